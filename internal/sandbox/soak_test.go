package sandbox

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"judged/internal/testkit"
)

// soakRuns is 10000 in make soak.
var soakRuns = flag.Int("soak", 600, "how many runs TestSoak counts")

// soakWarmUp is the number of runs before the first reading: pools and caches fill, and the Go heaps reach their
// stable size.
const soakWarmUp = 150

// gauge is a value that runs could increase. It may grow by room, regardless of the number of runs, and by each
// for each run. All values are of this process, its children and its control group, because other work on the
// host changes those of the host. A leaked descriptor, mount, group, process or 150 bytes of heap per run is
// detected in 600 runs, and so are 5 KiB of kernel memory, 2 KiB on v2.
type gauge struct {
	name string
	room float64
	each float64
	read func(l *lab) int64
}

func gauges(own ownGroup, users testkit.Users) []gauge {
	all := []gauge{
		{"descriptors of judged", 2, 0, func(*lab) int64 { return entries("/proc/self/fd") }},
		// The runtime's poller opens two descriptors with the first timer.
		{"descriptors of judged-init", 2, 0, func(l *lab) int64 { return entries(l.initProc("fd")) }},
		{"threads of judged", 4, 0, func(*lab) int64 { return entries("/proc/self/task") }},
		{"goroutines", 2, 0, func(*lab) int64 { return int64(runtime.NumGoroutine()) }},
		{"mounts seen by judged", 5, 0, func(*lab) int64 { return lines("/proc/self/mountinfo") }},
		{"mounts seen by judged-init", 0, 0, func(l *lab) int64 { return lines(l.initProc("mountinfo")) }},
		{"trees of judged", 0, 0, func(l *lab) int64 { return int64(len(l.places())) }},
		{"control groups of runs", 0, 0, func(l *lab) int64 { return groupsOfRuns() }},
		{"heap of judged, bytes", 64 << 10, 32, func(*lab) int64 { return heap() }},
		{"resident memory of judged, KiB", 1 << 10, 0.25,
			func(*lab) int64 { return kibibytes("/proc/self/status", "VmRSS") }},
		{"resident memory of judged-init, KiB", 2 << 10, 0.25,
			func(l *lab) int64 { return kibibytes(l.initProc("status"), "VmRSS") }},
		{"users with keys", 5, 0, func(*lab) int64 { return keyUsers(users) }},
	}
	kernel := func(*lab) int64 { return own.kernelMemory() >> 10 }
	if !own.v2 {
		return append(all, gauge{"kernel memory with dentries and inodes, KiB", 512, 4, kernel})
	}
	return append(all, gauge{"kernel memory, KiB", 512, 0.5, kernel},
		gauge{"removed control groups that still exist", 20, 0.02, func(*lab) int64 {
			return value(own.dir+"/cgroup.stat", "nr_dying_descendants")
		}})
}

// TestSoak runs a program that leaves as much behind as it can, many times, and checks that nothing
// accumulates.
func TestSoak(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	own, users := enterOwnGroup(t), ownUsers()
	smallPages(t)
	l := newLab(t, func(o *Options) { o.UIDFirst, o.UIDCount = users.First, users.Count })
	programs, n := []string{act(t), linkedAct(t)}, 0
	litter := func() {
		n++
		s, err := l.Prepare(l.slot)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}()
		err = s.Load(Spec{Args: []string{"./act", "litter"},
			Files: []File{{Name: "act", Path: programs[n%2], Exec: true}}, Limits: limits()})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Run(context.Background())
		if err != nil || r.Code != 0 || r.Signal != 0 || r.OutputBytes == 0 {
			t.Fatalf("the program ended with %+v, %v", r, err)
		}
	}
	for range soakWarmUp {
		litter()
	}
	all := gauges(own, users)
	before := readAll(l, all)
	for range *soakRuns {
		litter()
	}
	// The kernel frees some of it later: keys, removed groups and the memory of both.
	after := readAll(l, all)
	for end := time.Now().Add(time.Minute); exceeds(all, before, after) && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
		after = readAll(l, all)
	}
	table := new(strings.Builder)
	w := tabwriter.NewWriter(table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%d runs\tbefore\tafter\tmore\tallowed\t\n", *soakRuns)
	for i, g := range all {
		more, allowed := after[i]-before[i], g.allowed()
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n", g.name, before[i], after[i], more, allowed)
		if before[i] < 0 || after[i] < 0 {
			t.Errorf("%s: the kernel does not show it", g.name)
		}
		if more > allowed {
			t.Errorf("%s: %d more after %d runs, want at most %d", g.name, more, *soakRuns, allowed)
		}
	}
	w.Flush()
	t.Logf("\n%s", table)
}

// allowed returns by how much the value may grow.
func (g gauge) allowed() int64 { return int64(g.room + g.each*float64(*soakRuns)) }

// exceeds reports whether a value has grown by more than it may.
func exceeds(all []gauge, before, after []int64) bool {
	for i, g := range all {
		if after[i]-before[i] > g.allowed() {
			return true
		}
	}
	return false
}

func readAll(l *lab, all []gauge) []int64 {
	var values []int64
	for _, g := range all {
		values = append(values, g.read(l))
	}
	return values
}

// initProc returns the path of a file of judged-init in /proc.
func (l *lab) initProc(name string) string {
	return "/proc/" + strconv.Itoa(l.process.Pid) + "/" + name
}

// smallPages makes this process and its children use small pages until the test ends: khugepaged puts memory together
// at any time, which adds up to 2 MiB each time.
func smallPages(t *testing.T) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0); err != nil {
			t.Error(err)
		}
	})
}

// heap returns the memory in use after garbage has been returned, also to the kernel. The first collection
// leaves the contents of sync.Pools.
func heap() int64 {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// kibibytes returns the value of a line "name: value kB".
func kibibytes(path, name string) int64 {
	for line := range strings.Lines(read(path)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == name+":" {
			return parseCount(f[1])
		}
	}
	return -1
}

func entries(dir string) int64 {
	all, err := os.ReadDir(dir)
	if err != nil {
		return -1
	}
	return int64(len(all))
}

func lines(path string) int64 { return int64(strings.Count(read(path), "\n")) }

// groupsOfRuns counts the folders in the slots of this process's trees.
func groupsOfRuns() int64 {
	var n int64
	for _, tree := range groupsOf(os.Getpid()) {
		found, _ := filepath.Glob(tree + "/*/*/cgroup.procs") // the pattern is valid
		n += int64(len(found))
	}
	return n
}

// keyUsers counts the users of runs who have keys or a key ring.
func keyUsers(users testkit.Users) (n int64) {
	for line := range strings.Lines(read("/proc/key-users")) {
		id, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if uid := parseCount(id); uid >= int64(users.First) && uid < int64(users.First+users.Count) {
			n++
		}
	}
	return n
}

// ownGroup is a memory control group of this process and its children. Runs are in groups below it, and what a
// removed group has left in the kernel counts for the group above.
type ownGroup struct {
	dir string
	v2  bool
}

// enterOwnGroup moves this process until the test ends.
func enterOwnGroup(t *testing.T) ownGroup {
	t.Helper()
	own := ownGroup{dir: "/sys/fs/cgroup/memory", v2: testkit.Has(testkit.CgroupV2)}
	if own.v2 {
		own.dir = "/sys/fs/cgroup"
	}
	before := own.dir
	for line := range strings.Lines(read("/proc/self/cgroup")) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); f[1] == "memory" || own.v2 && f[1] == "" {
			before += f[2]
		}
	}
	own.dir += fmt.Sprintf("/judges-%d-soak", os.Getpid())
	move := func(to string) {
		t.Helper()
		if err := os.WriteFile(to+"/cgroup.procs", []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(own.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		move(before)
		_ = os.Remove(own.dir + "/daemon") // on v2 judged moves there
		if err := os.Remove(own.dir); err != nil {
			t.Error(err)
		}
	})
	move(own.dir)
	return own
}

// kernelMemory returns what the kernel has allocated for the processes of the group, in bytes. Only v2 leaves out
// what it could free.
func (g ownGroup) kernelMemory() (n int64) {
	if !g.v2 {
		// It counts caches as well, most of which this frees.
		if err := os.WriteFile(g.dir+"/memory.force_empty", []byte("0"), 0); err != nil {
			return -1
		}
		return parseCount(strings.TrimSpace(read(g.dir + "/memory.kmem.usage_in_bytes")))
	}
	for _, name := range []string{"kernel_stack", "pagetables", "percpu", "slab_unreclaimable"} {
		part := value(g.dir+"/memory.stat", name)
		if part < 0 {
			return -1
		}
		n += part
	}
	return n
}

// value returns the number in a line "name number".
func value(path, name string) int64 {
	for line := range strings.Lines(read(path)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			return parseCount(f[1])
		}
	}
	return -1
}
