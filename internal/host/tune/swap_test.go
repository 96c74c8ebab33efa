package tune

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"judged/internal/host/hostfs"
	"judged/internal/host/settings"
)

const swapsHead = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"

// oddName contains characters that the kernel escapes.
const oddName = "/var/lib/swap files/a\\b\tc"

// manyAreas has kernel-assigned ranks that differ from the order of the numbers, and two areas with the same
// priority.
const manyAreas = swapsHead + `/dev/sda2                               partition	8388604		0		-3
/dev/zram0                              partition	4194300		0		100
/var/lib/swap\040files/a\134b\011c           file		1048572		0		-2
/dev/sdb1                               partition	20971516	0		5
/dev/sdc1                               partition	20971516	0		5
/swapfile                               file		1048572		0		-4`

// areasInOrder is listed in the order in which the areas were enabled, so it is identical after restore.
const areasInOrder = swapsHead + `/dev/sda2                               partition	8388604		0		-2
/dev/zram0                              partition	4194300		0		100
/var/lib/swap\040files/a\134b\011c           file		1048572		0		-3
/dev/sdb1                               partition	20971516	0		5`

func swapping(t *testing.T, swaps string) *kernel {
	k := host(t, "intel-bare-tuned")
	k.put(swapsFile, swaps)
	return k
}

// ranks returns the enabled areas in the order in which they are used.
func (k *kernel) ranks(t *testing.T) []string {
	t.Helper()
	areas, err := readAreas(k.fs())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(areas, func(a, b hostfs.Swap) int { return b.Priority - a.Priority })
	var all []string
	for _, a := range areas {
		all = append(all, fmt.Sprintf("%s %d", a.Path, a.Priority))
	}
	return all
}

func onlySwap() Options { return Options{Only: []string{"swap"}} }

func TestSwap(t *testing.T) {
	k := swapping(t, manyAreas)
	ranks := k.ranks(t)
	want := []Value{
		{Path: "/swapfile", State: Set, From: "on", To: "off"},
		{Path: "/dev/sdc1", State: Set, From: "on, priority 5", To: "off"},
		{Path: "/dev/sdb1", State: Set, From: "on, priority 5", To: "off"},
		{Path: "/dev/sda2", State: Set, From: "on", To: "off"},
		{Path: "/dev/zram0", State: Set, From: "on, priority 100", To: "off"},
		{Path: oddName, State: Set, From: "on", To: "off"},
	}
	if diff := cmp.Diff(want, values(apply(t, k, onlySwap()), "swap")); diff != "" {
		t.Errorf("apply (-want +got):\n%s", diff)
	}
	if got := k.get(swapsFile); got != strings.TrimSpace(swapsHead) {
		t.Errorf("on after apply: %s", got)
	}
	check := func(what string) {
		t.Helper()
		restore(t, k, onlySwap())
		if diff := cmp.Diff(ranks, k.ranks(t)); diff != "" {
			t.Errorf("ranks after %s and restore (-before +after):\n%s", what, diff)
		}
	}
	check("apply")
	for op, dead := 1, true; dead; op++ {
		dead, _ = until(k, op, func() error { _, err := k.tuner(onlySwap()).apply(t.Context()); return err })
		check(fmt.Sprintf("apply that is killed at operation %d", op))
	}
	if want := []string{"/dev/zram0 100", "/dev/sdb1 5", "/dev/sdc1 5", oddName + " -2", "/dev/sda2 -3",
		"/swapfile -4"}; !slices.Equal(want, ranks) {
		t.Errorf("ranks %q, want %q", ranks, want)
	}
}

func TestAreaValues(t *testing.T) {
	for value, want := range map[string]struct {
		on       bool
		priority int
	}{
		"off": {false, -1}, "on": {true, -1}, "on, priority 0": {true, 0}, "on, priority 32767": {true, 32767},
	} {
		on, priority, err := parseArea(value)
		if on != want.on || priority != want.priority || err != nil {
			t.Errorf("%q: %t, %d, %v", value, on, priority, err)
		}
		if on && areaValue(hostfs.Swap{Priority: priority}) != value {
			t.Errorf("priority %d: %q, want %q", priority, areaValue(hostfs.Swap{Priority: priority}), value)
		}
	}
	for _, value := range []string{"", "on, priority -1", "on, priority 32768", "on, priority", "on, priority 1 "} {
		if on, _, err := parseArea(value); on || err == nil {
			t.Errorf("%q: %t, %v, want an error", value, on, err)
		}
	}
	// Areas with kernel-assigned priorities are sorted by rank, the others keep their positions.
	got := ranked([]hostfs.Swap{{Path: "c", Priority: -4}, {Path: "zero", Priority: 0}, {Path: "a", Priority: -2}})
	want := []hostfs.Swap{{Path: "a", Priority: -2}, {Path: "zero", Priority: 0}, {Path: "c", Priority: -4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ranked (-want +got):\n%s", diff)
	}
}

// TestSwapOfSomebodyElse: areas enabled since then, one with another priority, and one that no longer exists.
func TestSwapOfSomebodyElse(t *testing.T) {
	k := swapping(t, manyAreas)
	apply(t, k, onlySwap())
	if err := k.SwapOn("/dev/sdb1", 7); err != nil {
		t.Fatal(err)
	}
	if err := k.SwapOn("/swapfile", -1); err != nil {
		t.Fatal(err)
	}
	k.refuse["/dev/zram0"] = fs.ErrNotExist
	k.refuse["/dev/sda2"] = syscall.EBUSY
	r := restore(t, k, onlySwap())
	got := map[string]string{}
	for _, v := range values(r, "swap") {
		got[v.Path] = fmt.Sprintf("%s %s: %s", v.State, v.From, v.Reason)
	}
	want := map[string]string{
		"/dev/sdb1": `left on, priority 7: somebody changed it since; it was "on, priority 5" before tune`,
		"/swapfile": "restored off: ", "/dev/zram0": "gone off: ", "/dev/sda2": "failed off: device or resource busy",
		"/dev/sdc1": "restored off: ", oddName: "restored off: ",
	}
	if diff := cmp.Diff(want, got); diff != "" || r.Done {
		t.Errorf("restore, done %t (-want +got):\n%s", r.Done, diff)
	}
	delete(k.refuse, "/dev/sda2")
	if r := restore(t, k, onlySwap()); !r.Done || k.journal != nil {
		t.Errorf("restore of what was busy: %+v, journal %s", r, k.journal)
	}
}

// TestSwapOffThatFails: if an area cannot be disabled, areas with higher priority stay on too, because they
// would get a lower rank when restored.
func TestSwapOffThatFails(t *testing.T) {
	const behind = "stays an earlier one cannot be changed"
	for name, tc := range map[string]struct {
		path string
		err  error
		want map[string]string
	}{
		"memory": {"/dev/sdb1", syscall.ENOMEM, map[string]string{"/swapfile": "set ", "/dev/sdc1": "set ",
			"/dev/sdb1": "stays the kernel refuses: cannot allocate memory", "/dev/sda2": behind, "/dev/zram0": behind,
			oddName: behind}},
		"not root's alone": {"/swapfile", checkRootOnly(info(0o644, 0)), map[string]string{
			"/swapfile": "stays other users may access it (mode 0644); run chmod 0600 first",
			"/dev/sdc1": behind, "/dev/sdb1": behind, "/dev/sda2": behind, "/dev/zram0": behind, oddName: behind}},
		"off meanwhile": {"/swapfile", fs.ErrNotExist, map[string]string{"/swapfile": "gone it disappeared meanwhile",
			"/dev/sdc1": "set ", "/dev/sdb1": "set ", "/dev/sda2": "set ", "/dev/zram0": "set ", oddName: "set "}},
	} {
		k := swapping(t, manyAreas)
		ranks := k.ranks(t)
		k.refuse[tc.path] = tc.err
		got := map[string]string{}
		r := apply(t, k, onlySwap())
		for _, v := range values(r, "swap") {
			got[v.Path] = string(v.State) + " " + v.Reason
			if v.State != Set && strings.Contains(string(k.journal), `"`+v.Path+`"`) {
				t.Errorf("%s: %s was not switched, and is in the journal: %s", name, v.Path, k.journal)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || !r.Done {
			t.Errorf("%s: done %t (-want +got):\n%s", name, r.Done, diff)
		}
		restore(t, k, onlySwap())
		slices.Sort(ranks)
		after := k.ranks(t)
		if slices.Sort(after); tc.err != fs.ErrNotExist && !slices.Equal(ranks, after) {
			t.Errorf("%s: ranks after restore %q, want %q", name, after, ranks)
		}
	}
}

// TestSwapNeedsMemory: 3 GiB are swapped out.
func TestSwapNeedsMemory(t *testing.T) {
	const swaps = swapsHead + "/dev/sda2 partition 8388604 2097152 -2\n/dev/sdb2 partition 8388604 1048576 -3"
	for name, tc := range map[string]struct{ meminfo, want string }{
		"enough": {"MemTotal: 10485760 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB", ""},
		"short": {"MemTotal: 10485760 kB\nMemFree: 9 kB\nMemAvailable: 4194303 kB",
			"3.0 GiB are swapped out, more than the available memory of 4.0 GiB " +
				"(MemAvailable) less a reserve of 1.0 GiB (a tenth of MemTotal); stop the programs that need it"},
		"an old kernel": {"MemTotal: 10485760 kB\nMemFree: 9000000 kB",
			"3.0 GiB are swapped out, more than the available memory of 0 B " +
				"(MemAvailable) less a reserve of 1.0 GiB (a tenth of MemTotal); stop the programs that need it"},
		"none": {"", "3.0 GiB are swapped out, and judged cannot read /proc/meminfo: file does not exist"},
	} {
		k := swapping(t, swaps)
		if tc.meminfo != "" {
			k.put("/proc/meminfo", tc.meminfo)
		}
		want := map[string]string{"/dev/sda2": "stays " + tc.want, "/dev/sdb2": "stays " + tc.want}
		if tc.want == "" {
			want = map[string]string{"/dev/sda2": "set ", "/dev/sdb2": "set "}
		}
		got := map[string]string{}
		for _, v := range values(apply(t, k, onlySwap()), "swap") {
			got[v.Path] = string(v.State) + " " + v.Reason
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		restore(t, k, onlySwap())
		if diff := cmp.Diff([]string{"/dev/sda2 -2", "/dev/sdb2 -3"}, k.ranks(t)); diff != "" {
			t.Errorf("%s: after restore (-want +got):\n%s", name, diff)
		}
	}
}

func TestNoSwap(t *testing.T) {
	for swaps, want := range map[string]proposal{
		"":        {skip: "/proc/swaps does not exist"},
		swapsHead: {right: 1},
		swapsHead + "/x file 1": {stays: []Value{{Path: swapsFile, State: Stays,
			Reason: `cannot read it: parse swaps: 3 words in "/x file 1", want 5`}}},
		swapsHead + "/\xff file 1 0 -2": {stays: []Value{{Path: "/\xff", State: Stays, From: "on",
			Reason: "its name is not UTF-8 and cannot be written to the journal"}}},
	} {
		tree := fstest.MapFS{}
		if swaps != "" {
			tree[swapsFile[1:]] = &fstest.MapFile{Data: []byte(swaps), Mode: 0o444}
		}
		got := (&view{Host: settings.Host{FS: hostfs.Of(tree)}}).disableSwap()
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(proposal{}, change{}, entry{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", swaps, diff)
		}
	}
}

func info(mode fs.FileMode, uid uint32) fs.FileInfo {
	return device(mode, uid, 8<<8|2)
}

func device(mode fs.FileMode, uid uint32, number uint64) fs.FileInfo {
	tree := fstest.MapFS{"x": {Mode: mode, Sys: &syscall.Stat_t{Uid: uid, Rdev: number}}}
	i, _ := tree.Stat("x")
	return i
}

func TestAreasAreRootsAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		info fs.FileInfo
		want string
	}{
		"file": {info(0o600, 0), ""},
		"file of a user": {info(0o600, 1000), "root does not own it, and its owner could read and change what the " +
			"kernel puts there"},
		"readable file": {info(0o640, 0), "other users may access it (mode 0640); run chmod 0600 first"},
		"writable file": {info(0o602, 0), "other users may access it (mode 0602); run chmod 0600 first"},
		"device":        {info(fs.ModeDevice|0o660, 0), ""},
		"open device": {info(fs.ModeDevice|0o666, 0),
			"other users may access it (mode 0666); run chmod 0660 first"},
		"device of a user": {info(fs.ModeDevice|0o600, 1000),
			"root does not own it, and its owner could read and change what the kernel puts there"},
		"loop device": {device(fs.ModeDevice|0o660, 0, 7<<8|3),
			"it is a loop device, and anybody could own the file behind it"},
		"link":             {info(fs.ModeSymlink|0o777, 0), "it is neither a file nor a block device"},
		"folder":           {info(fs.ModeDir|0o700, 0), "it is neither a file nor a block device"},
		"character device": {info(fs.ModeDevice|fs.ModeCharDevice|0o600, 0), "it is neither a file nor a block device"},
		"pipe":             {info(fs.ModeNamedPipe|0o600, 0), "it is neither a file nor a block device"},
	} {
		got := ""
		if err := checkRootOnly(tc.info); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestHostileAreaIsNotSwitchedOn: an area named by a journal is checked before any system call.
func TestHostileAreaIsNotSwitchedOn(t *testing.T) {
	dir := t.TempDir()
	hands := live{hostfs.New("/")}
	users := dir + "/users"
	if err := os.WriteFile(users, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(users, 1000, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(users, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		path, want string
	}{
		"a folder":           {dir, "it is neither a file nor a block device"},
		"a character device": {"/dev/null", "it is neither a file nor a block device"},
		"a file of a user":   {users, "root does not own it"},
		"a link":             {dir + "/link", "it is neither a file nor a block device"},
		"nothing":            {dir + "/none", "no such file or directory"},
	} {
		if err := hands.SwapOn(tc.path, 0); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
