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
)

// soakRuns is 10000 in make soak.
var soakRuns = flag.Int("soak", 600, "how many runs TestSoak counts")

// soakWarmUp is the number of runs before the first reading: pools and caches fill, and the Go heaps reach their
// stable size.
const soakWarmUp = 150

// gauge is a value that runs could increase. It may grow by room, regardless of the number of runs, and by each
// for each run. Values of the whole host have room for other activity. A leaked descriptor, mount, group,
// namespace, process or 150 bytes of heap per run is detected in 600 runs, a few KiB of kernel or judged-init
// memory in 10000.
type gauge struct {
	name string
	room float64
	each float64
	read func(l *lab) int64
}

func gauges() []gauge {
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
		{"users with keys", 5, 0, func(*lab) int64 { return lines("/proc/key-users") }},
		{"control groups of the host, dying ones too", 200, 0.02, func(*lab) int64 { return groupsOfHost() }},
	}
	for _, name := range []string{"SUnreclaim", "KernelStack", "PageTables", "Percpu"} {
		all = append(all, gauge{name + " of the host, KiB", 64 << 10, 0.5,
			func(*lab) int64 { return kibibytes("/proc/meminfo", name) }})
	}
	for _, name := range []string{"pid_namespace", "net_namespace", "uts_namespace", "nsproxy", "mnt_cache",
		"shmem_inode_cache", "task_struct", "pid", "key_jar"} {
		all = append(all, gauge{"slab " + name + ", objects", 400, 0.05, func(*lab) int64 { return slab(name) }})
	}
	return all
}

// TestSoak runs a program that leaves as much behind as it can, many times, and checks that nothing
// accumulates.
func TestSoak(t *testing.T) {
	l := newLab(t, nil)
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
	all := gauges()
	before := readAll(l, all)
	for range *soakRuns {
		litter()
	}
	after := readAll(l, all)
	table := new(strings.Builder)
	w := tabwriter.NewWriter(table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%d runs\tbefore\tafter\tmore\tallowed\t\n", *soakRuns)
	for i, g := range all {
		more, allowed := after[i]-before[i], int64(g.room+g.each*float64(*soakRuns))
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

// groupsOfHost counts the kernel's control groups. A removed group counts until the last reference to it is
// dropped.
func groupsOfHost() int64 {
	var n int64
	for line := range strings.Lines(read("/proc/cgroups")) {
		if f := strings.Fields(line); len(f) == 4 && f[1] != "0" {
			n += max(parseCount(f[2]), 0)
		}
	}
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		for line := range strings.Lines(read(root + "/cgroup.stat")) {
			if f := strings.Fields(line); len(f) == 2 && strings.HasPrefix(f[0], "nr_") {
				n += max(parseCount(f[1]), 0)
			}
		}
	}
	return n
}

// slab counts the objects of one of the kernel's slab caches.
func slab(name string) int64 {
	for line := range strings.Lines(read("/proc/slabinfo")) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			return parseCount(f[1])
		}
	}
	return 0 // merged with another cache of the same size
}
