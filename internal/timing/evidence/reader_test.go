package evidence

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// host is a tree of files in a temporary root.
type host struct {
	t    *testing.T
	root string
}

func newHost(t *testing.T, files map[string]string) host {
	h := host{t, t.TempDir()}
	h.write(files)
	return h
}

func (h host) write(files map[string]string) {
	h.t.Helper()
	for path, text := range files {
		real := filepath.Join(h.root, path)
		if err := os.MkdirAll(filepath.Dir(real), 0o755); err != nil {
			h.t.Fatal(err)
		}
		if err := os.WriteFile(real, []byte(text), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h host) reader(cpus ...int) *Reader {
	h.t.Helper()
	r, err := NewReader(hostfs.New(h.root), cpuset.New(cpus...), nil, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { r.Close() })
	return r
}

const (
	throttlePath = "/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count"
	packagePath  = "/sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count"
)

func TestSnapshotsOfAChangingHost(t *testing.T) {
	h := newHost(t, map[string]string{
		"/proc/schedstat":            "cpu0 0 0 0 0 0 0 5 0 0\ncpu1 0 0 0 0 0 0 1000000000 0 0\n",
		"/proc/self/cgroup":          "2:cpu,cpuacct:/docker/a\n1:memory:/x\n0::/docker/b\n",
		"/proc/mounts":               "c1 /cpu cgroup rw,cpu,cpuacct 0 0\nc2 /unified cgroup2 rw 0 0\n",
		"/cpu/docker/a/cpu.stat":     "nr_periods 9\nthrottled_time 5000000\n",
		"/cpu/docker/cpu.stat":       "throttled_time 0\n",
		"/unified/docker/b/cpu.stat": "usage_usec 9\nthrottled_usec 100\n",
		"/proc/stat":                 "cpu 0 0 0 0 0 0 0 0\ncpu0 9 9 9 9 9 9 9 9 0 0\ncpu1 0 0 0 0 0 1 2 3 0 0\n",
		"/proc/interrupts":           "  CPU0 CPU1\n 7: 0 4 nvme\nLOC: 100 200 Local\nRES: 1 1\n",
		throttlePath:                 "6\n",
		packagePath:                  "1\n",
		"/proc/softirqs":             "  CPU0 CPU1\nNET_TX: 0 1\nNET_RX: 9 2\nBLOCK: 0 7\nRCU: 5 5\n",
		"/proc/swaps":                "Filename Type Size\n/dev/sdb partition 1000\n",
		"/proc/vmstat":               "pswpin 10\npswpout 20\ncompact_stall 3\npgfault 9\n",
	})
	r := h.reader(1)
	own := 40 * ms
	r.neighbours, r.own = cpuset.New(0), func() (_, _ time.Duration, err error) { return own + own/5, own, nil }
	before := r.Snapshot()
	own += 50 * ms
	h.write(map[string]string{
		"/proc/schedstat":            "cpu0 0 0 0 0 0 0 290000005 0 0\ncpu1 0 0 0 0 0 0 1700000000 0 0\n",
		"/proc/stat":                 "cpu 0 0 0 0 0 0 0 0\ncpu0 21 22 9 9 9 9 9 9 0 0\ncpu1 60 5 9 0 0 1 4 5 0 0\n",
		"/proc/interrupts":           "  CPU0 CPU1\n 7: 0 6 nvme\nLOC: 100 450 Local\nRES: 9 1\n",
		throttlePath:                 "7\n",
		"/cpu/docker/a/cpu.stat":     "nr_periods 9\nthrottled_time 9000000\n",
		"/unified/docker/b/cpu.stat": "usage_usec 9\nthrottled_usec 1100\n",
		packagePath:                  "4\n",
		"/proc/softirqs":             "  CPU0 CPU1\nNET_TX: 0 2\nNET_RX: 9 4\nBLOCK: 0 8\nRCU: 5 9\n",
		"/proc/vmstat":               "pswpin 11\npswpout 24\ncompact_stall 3\npgfault 99\n",
	})
	got := Between(before, r.Snapshot(), Facts{CPUTime: 600 * time.Millisecond, UserTime: 590 * ms,
		WallTime: time.Second, Width: 1, MajorFaults: new(int64(2)),
		Pressure: new(3 * ms), IRQPressure: new(ms), Refaults: new(int64(4)), LimitHits: new(int64(5)),
		NUMAMigrations: new(int64(6))})
	want := api.Evidence{
		ForeignTime:     new(80 * time.Millisecond), // 700 - 600 of the run - 20 stolen
		ForeignUserTime: new(50 * ms),               // 650 - 590, minus a tick
		StealTime:       new(20 * time.Millisecond),
		ThrottledTime:   new(5 * ms), // 4 in one hierarchy and 1 in the other
		NeighboursBusy:  new(0.2),    // 120 + 130 - 50 of judged, and less than 290 - 60
		MajorFaults:     new(int64(2)),
		Pressure:        new(3 * ms), IRQPressure: new(ms), Refaults: new(int64(4)), LimitHits: new(int64(5)),
		NUMAMigrations: new(int64(6)),
		Swapped:        new(int64(5)), CompactionStalls: new(int64(0)),
		Interrupts: map[string]int64{"device": 2, "LOC": 250, "softirq_ticks": 2, "softirq_net": 3, "softirq_block": 1,
			"core_throttles": 1, "package_throttles": 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSnapshotsOfCpuacct checks that positions matter on a v1 host: CPU 3 is the third possible one. The cgroup's clock
// excludes steal.
func TestSnapshotsOfCpuacct(t *testing.T) {
	const usage = "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage_percpu"
	h := newHost(t, map[string]string{
		"/proc/mounts":                     "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n",
		"/proc/stat":                       "cpu3 0 0 0 0 0 0 0 3\n",
		"/sys/devices/system/cpu/possible": "0-1,3\n",
		usage:                              "1 2 1000000 \n",
	})
	r := h.reader(3)
	before := r.Snapshot()
	h.write(map[string]string{usage: "1 2 9000000 \n", "/proc/stat": "cpu3 0 0 0 0 0 0 0 4\n"})
	got := Between(before, r.Snapshot(), Facts{CPUTime: 5 * time.Millisecond})
	want := api.Evidence{ForeignTime: new(3 * time.Millisecond), ForeignUserTime: new(time.Duration(0)),
		StealTime: new(10 * time.Millisecond)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSnapshotOfABigMachine checks that a file longer than the first buffer is read to its end and in the background,
// in the order of the snapshots and before the files are closed.
func TestSnapshotOfABigMachine(t *testing.T) {
	h := newHost(t, map[string]string{"/proc/interrupts": bigInterrupts(128, 100)})
	r := h.reader(127)
	var all []Snapshot
	for range 20 {
		all = append(all, r.Snapshot())
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want := interrupts{[]row{{"device", 12700}, {"LOC", 4000000127}}, 1}
	for _, s := range all {
		if s.interrupts.done == finished {
			t.Fatal("a file of 100 KiB was read on the spot")
		}
		if diff := cmp.Diff(want, s.interrupts.wait(), unexported); diff != "" {
			t.Fatal(diff)
		}
		if inline := s.took; Cost(s, s) <= 2*inline {
			t.Error("the cost leaves out what was read in the background")
		}
	}
}

// TestReadingsAreInOrder checks that the second reading is not older than the first one.
func TestReadingsAreInOrder(t *testing.T) {
	h := newHost(t, map[string]string{"/proc/interrupts": bigInterrupts(128, 100)})
	r := h.reader(127)
	before := r.Snapshot()
	before.interrupts.wait()
	h.write(map[string]string{"/proc/interrupts": strings.Replace(bigInterrupts(128, 100), "4000000127", "4000000130",
		1)})
	got := Between(before, r.Snapshot(), Facts{})
	if diff := cmp.Diff(api.Evidence{Interrupts: map[string]int64{"LOC": 3}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMissingSourcesAreAbsent(t *testing.T) {
	h := newHost(t, map[string]string{
		"/proc/interrupts": "garbage\n",
		"/proc/stat":       "",
		"/proc/mounts":     "cgroup /nowhere cgroup rw,cpuacct 0 0\n",
	})
	for _, r := range []*Reader{newHost(t, nil).reader(1), h.reader(1)} {
		if diff := cmp.Diff(api.Evidence{}, Between(r.Snapshot(), r.Snapshot(), Facts{})); diff != "" {
			t.Error(diff)
		}
	}
}

func TestForeignTimeIsNeverNegative(t *testing.T) {
	s := Snapshot{source: cpuacct, busy: tally{1000, 1}}
	got := Between(s, s, Facts{CPUTime: time.Second})
	if diff := cmp.Diff(api.Evidence{ForeignTime: new(time.Duration(0))}, got); diff != "" {
		t.Error(diff)
	}
}

func TestNewReaderNeedsCPUs(t *testing.T) {
	if _, err := NewReader(hostfs.New(t.TempDir()), nil, nil, nil); err == nil {
		t.Error("no error for a slot without CPUs")
	}
}

func TestCloseEmptiesSnapshots(t *testing.T) {
	r := newHost(t, map[string]string{"/proc/stat": "cpu1 0 0 0 0 0 1 2 3\n",
		"/proc/schedstat": "cpu1 0 0 0 0 0 0 5\n"}).reader(1)
	if n := len(r.files()); n != 2 {
		t.Fatalf("%d sources, want 2: %v", n, r.files())
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Snapshot{source: schedstat}, r.Snapshot(), unexported,
		cmpopts.IgnoreFields(Snapshot{}, "took")); diff != "" {
		t.Error(diff)
	}
}

// TestLiveMachineSeesForeignTime checks that the files of the running kernel are parsed with any content. The CPU
// time that this test uses is foreign, because the facts have no CPU time.
func TestLiveMachineSeesForeignTime(t *testing.T) {
	online, err := hostfs.New("/").Read("/sys/devices/system/cpu/online")
	if err != nil {
		t.Fatal(err)
	}
	cpus, err := cpuset.Parse(online)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(hostfs.New("/"), cpus, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before := r.Snapshot()
	deadline := time.Now().Add(10 * time.Second)
	var e api.Evidence
	for e.Interrupts[timerRow] < 5 || (r.busy != noBusySource && *e.ForeignTime < 20*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("burning a CPU does not show in %v: %+v", r.files(), e)
		}
		e = Between(before, r.Snapshot(), Facts{})
	}
	if e.StealTime == nil {
		t.Error("no steal counter in /proc/stat")
	}
}
