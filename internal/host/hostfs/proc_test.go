package hostfs

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
)

const statRest = " S 1 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 4 0 24 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 3 1 0"

func TestParseStat(t *testing.T) {
	for name, comm := range map[string]string{"plain": "bash", "spaces": "tmux: server", "parentheses": "a) R 9 (b",
		"empty": ""} {
		got, err := ParseStat(fmt.Sprintf("42 (%s)%s", comm, statRest))
		want := Stat{PID: 42, PPID: 1, Name: comm, State: "S", Flags: 2129984, Threads: 4, Start: "24", CPU: 3}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	for policy, want := range map[string]bool{"0": false, "1": true, "2": true, "3": false} {
		s, err := ParseStat("42 (a)" + strings.TrimSuffix(statRest, " 1 0") + " 50 " + policy)
		if err != nil || s.RealTime != want || !s.Kernel() || s.Fixed() {
			t.Errorf("policy %s: %+v, %v", policy, s, err)
		}
	}
	for name, text := range map[string]string{"empty": "", "no name": "42 S 1", "reversed": ")42(",
		"short": "42 (a) S 1", "no number": "x (a)" + statRest,
		"no parent": "42 (a)" + strings.Replace(statRest, " 1 0", " y 0", 1)} {
		if s, err := ParseStat(text); err == nil {
			t.Errorf("%s: %+v and no error", name, s)
		}
	}
}

func TestRedactStat(t *testing.T) {
	got := RedactStat("42 (a b)" + statRest + "\n")
	if s, err := ParseStat(got); err != nil || s.CPU != 3 || s.Threads != 4 || s.Start != "0" ||
		strings.Contains(got, "24") {
		t.Errorf("%q: %+v, %v", got, s, err)
	}
}

func TestTables(t *testing.T) {
	if diff := cmp.Diff(map[string]string{"": "/", "cpu": "/a", "cpuacct": "/a", "name=systemd": "/x:y"},
		Cgroups("3:cpu,cpuacct:/a\n1:name=systemd:/x:y\n0::/\nrubbish\n9:pids:relative\n")); diff != "" {
		t.Errorf("Cgroups (-want +got):\n%s", diff)
	}
	mounts := Mounts("cgroup /a\\040b\\134 cgroup rw,cpu 0 0\nshort line\n")
	if diff := cmp.Diff([]Mount{{Source: "cgroup", Point: `/a b\`, FSType: "cgroup", Options: []string{"rw", "cpu"}}},
		mounts); diff != "" {
		t.Errorf("Mounts (-want +got):\n%s", diff)
	}
	if point, ok := FindMount(mounts, "cgroup", "cpu"); point != `/a b\` || !ok {
		t.Errorf("FindMount = %q, %t", point, ok)
	}
	if point, ok := FindMount(mounts, "cgroup", "cp"); ok {
		t.Errorf("FindMount of a part of an option = %q", point)
	}
	info, err := MountInfo("22 1 0:21 /r /a\\040b rw shared:2 - tmpfs dev\\011x rw,size=1k\n23 22 0:22 / /p rw - proc " +
		"proc\n")
	want := []Mount{{ID: "22", Root: "/r", Point: "/a b", FSType: "tmpfs", Source: "dev\tx",
		Options: []string{"rw", "size=1k"}},
		{ID: "23", Root: "/", Point: "/p", FSType: "proc", Source: "proc"}}
	if diff := cmp.Diff(want, info); err != nil || diff != "" {
		t.Errorf("MountInfo: %v (-want +got):\n%s", err, diff)
	}
	if all, err := MountInfo("22 1 0:21 /r /a rw\n"); err == nil {
		t.Errorf("half a line of mountinfo is %+v", all)
	}
	swaps, err := Swaps("Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 9 1 -2\n/a\\040b file 9 0 5")
	if diff := cmp.Diff([]Swap{{"/dev/sda2", 1 << 10, -2}, {"/a b", 0, 5}}, swaps); err != nil || diff != "" {
		t.Errorf("Swaps: %v (-want +got):\n%s", err, diff)
	}
}

func TestFindMount(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
	}{
		{"alone", "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpuacct cgroup rw,relatime,cpuacct 0 0\n",
			"/sys/fs/cgroup/cpuacct"},
		{"together with cpu", "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n",
			"/sys/fs/cgroup/cpu,cpuacct"},
		{"a space in the path", `cgroup /my\040cgroups cgroup rw,cpuacct 0 0`, "/my cgroups"},
		{"another file system of that name", "cpuacct /mnt ext4 rw,cpuacct 0 0\n", ""},
		{"v2 only", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := FindMount(Mounts(tt.text), "cgroup", "cpuacct")
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %v; want %q", got, ok, tt.want)
			}
		})
	}
}

func TestFields(t *testing.T) {
	limits := "Limit                     Soft Limit           Hard Limit           Units\nMax cpu time              60  " +
		"unlimited  seconds\n"
	if soft, hard, ok := ProcessLimit(limits, "Max cpu time"); soft != "60" || hard != "unlimited" || !ok {
		t.Errorf("Limit = %s, %s, %t", soft, hard, ok)
	}
	if _, _, ok := ProcessLimit(limits, "Max stack size"); ok {
		t.Error("found a limit that is not there")
	}
	for text, want := range map[string]units.Bytes{"Node 0 MemTotal: 9 kB\nNode 0 MemFree:  1234 kB\n": 1234 << 10,
		"MemFree: 1 kB":    1 << 10,
		"NotMemFree: 5 kB": 0, "MemFree: -5 kB": 0, "MemFree: 5": 0} {
		if n := Meminfo(text, "MemFree"); n != want {
			t.Errorf("Meminfo(%q) = %d, want %d", text, n, want)
		}
	}
	if v := ProcessVariable("PATH=/bin\x00container=lxc\x00", "container"); v != "lxc" {
		t.Errorf("Variable = %q", v)
	}
	status := "Name:\tx\nNotCpus_allowed_list:\t7\nCpus_allowed_list:\t0-3\n"
	if got := StatusField(status, "Cpus_allowed_list"); got != "0-3" {
		t.Errorf("StatusField = %q", got)
	}
	const x86 = "processor\t: 0\nflags\t\t: fpu hwp\n\nprocessor\t: 1\nflags\t\t: fpu hwp late\n"
	if _, is := CPUFlags(x86); !is || !HasCPUFlag(x86, "hwp") || HasCPUFlag(x86, "late") || HasCPUFlag(x86, "hw") {
		t.Error("flags of x86")
	}
	if _, is := CPUFlags("Features\t: fp asimd\n"); is || !HasCPUFlag("Features\t: fp asimd\n", "asimd") {
		t.Error("features of ARM")
	}
}

func TestDescends(t *testing.T) {
	parent := map[int]int{1: 0, 10: 1, 11: 10, 20: 1, 30: 31, 31: 30}
	for pid, want := range map[int]bool{10: true, 11: true, 20: false, 1: false, 30: false, 99: false} {
		if got := descends(pid, parent, map[int]bool{10: true}); got != want {
			t.Errorf("descends(%d) = %t", pid, got)
		}
	}
}

// TestThreads: threads have the PID of their process, descendants of judged are marked, and threads that have
// exited are omitted.
func TestThreads(t *testing.T) {
	tree := fstest.MapFS{}
	add := func(dir, stat, status string) {
		tree["proc/"+dir+"/stat"] = &fstest.MapFile{Data: []byte(stat), Mode: 0o444}
		if status != "" {
			tree["proc/"+dir+"/status"] = &fstest.MapFile{Data: []byte(status), Mode: 0o444}
		}
	}
	line := func(pid int, name string, parent, threads int) string {
		return fmt.Sprintf("%d (%s) S %d 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 %d 0 24", pid, name, parent, threads)
	}
	const allowed = "Cpus_allowed_list:\t0-1\nvoluntary_ctxt_switches:\t2\nnonvoluntary_ctxt_switches:\t3\n"
	add("5", line(5, "judged", 1, 2), allowed)
	add("5/task/5", line(5, "judged", 1, 2), allowed)
	add("5/task/6", line(6, "worker", 1, 2), allowed)
	add("7", line(7, "checker", 5, 1), allowed)
	add("8", line(8, "vanished", 1, 1), "")
	add("9", line(9, "bash", 1, 1), allowed)
	got, err := Threads(t.Context(), Of(tree))
	if err != nil {
		t.Fatal(err)
	}
	thread := func(pid, tid, parent, threads int, name, dir string, ours bool) Thread {
		return Thread{Stat: Stat{PID: pid, PPID: parent, Name: name, State: "S", Threads: threads, Start: "24"},
			TID: tid, Dir: "/proc/" + dir, Allowed: cpuset.New(0, 1), Switches: 5, Ours: ours}
	}
	want := []Thread{thread(5, 5, 1, 2, "judged", "5", true), thread(5, 6, 1, 2, "worker", "5/task/6", true),
		thread(7, 7, 5, 1, "checker", "7", true), thread(9, 9, 1, 1, "bash", "9", false)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	add("9", "nonsense", allowed)
	if all, err := Threads(t.Context(), Of(tree)); err == nil {
		t.Errorf("an unreadable stat gives %d threads and no error", len(all))
	}
}

func TestBootOption(t *testing.T) {
	const cmdline = "ro nosmt isolcpus=managed_irq,domain,2-3,6 nohz_full=1 nohz_full=2-3 irqaffinity=x -- isolcpus=7"
	for name, want := range map[string]string{"nosmt": "-", "nohz_full": "2-3", "isolcpus": "managed_irq,domain,2-3,6",
		"hugepages": ""} {
		if got := BootOption(cmdline, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"isolcpus": "2-3,6", "irqaffinity": "", "rcu_nocbs": ""} {
		if got := BootOptionCPUs(cmdline, name).String(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// FuzzStat: any process name and the fields after it are parsed correctly.
func FuzzStat(f *testing.F) {
	for _, comm := range []string{"bash", "tmux: server", "a) R 9 (b", "", ")", "(", "\x1b[2J", "\n"} {
		f.Add(comm, uint32(42), uint32(1), uint32(2129984), uint32(4), uint32(3))
	}
	f.Fuzz(func(t *testing.T, comm string, pid, ppid, flags, threads, cpu uint32) {
		const between = " 0 0 0 -1 %d 0 0 0 0 0 0 0 0 0 0 %d 0 24 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 %d 0 0"
		text := fmt.Sprintf("%d (%s) S %d"+between, pid, comm, ppid, flags, threads, cpu)
		got, err := ParseStat(text)
		want := Stat{PID: int(pid), PPID: int(ppid), Name: comm, State: "S", Flags: uint64(flags),
			Threads: int(threads), Start: "24", CPU: int(cpu)}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
		_, _ = ParseStat(comm) // must not panic
		_ = RedactStat(comm)
	})
}

// FuzzTables: parsed fields occur in the input.
func FuzzTables(f *testing.F) {
	for _, s := range []string{"cgroup2 /sys/fs/cgroup\\134x cgroup2 rw 0 0\n", "0::/a\n3:cpu,cpuacct:/\n",
		"Cpus_allowed_list:\t0-3\n",
		"Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n", "Max cpu time  60 unlimited seconds\n",
		"MemFree: 9223372036854775807 kB\n",
		"cgroup2 /a\\777\\04 cgroup2 rw 0 0", "22 1 0:21 /r /a rw - tmpfs dev rw\n", "flags : fpu hwp\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, m := range Mounts(s) {
			if m.FSType == "" || len(m.Options) == 0 {
				t.Errorf("mount %+v", m)
			}
		}
		for _, path := range Cgroups(s) {
			if !strings.HasPrefix(path, "/") {
				t.Errorf("cgroup %q", path)
			}
		}
		if soft, hard, ok := ProcessLimit(s, "Max cpu time"); ok && (soft == "" || hard == "") {
			t.Errorf("limit %q %q", soft, hard)
		}
		if n := Meminfo(s, "MemFree"); n < 0 {
			t.Errorf("%d bytes free", n)
		}
		if !strings.Contains(s, StatusField(s, "Cpus_allowed_list")) {
			t.Error("a field out of nothing")
		}
		// Escapes as the kernel does (fs/proc_namespace.c, mangle).
		if got := unescape(strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`,
			`\134`).Replace(s)); got != s {
			t.Errorf("%q became %q", s, got)
		}
		_, _ = MountInfo(s)
		_, _ = Swaps(s)
		_, _ = CPUFlags(s)
	})
}
