package evidence

import (
	"encoding/binary"
	"errors"
	"runtime"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/host/hostfs"
)

// words returns a group in the format of read(2).
func words(all ...uint64) []byte {
	var b []byte
	for _, w := range all {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

func TestTotals(t *testing.T) {
	names := []counter{switches, aperf}
	for _, tt := range []struct {
		name  string
		reads [][]byte
		want  totals
	}{
		{"one CPU", [][]byte{words(2, 7, 9)}, totals{switches: {7, 1}, aperf: {9, 1}}},
		{"two CPUs", [][]byte{words(2, 7, 9), words(2, 1, 1)}, totals{switches: {8, 2}, aperf: {10, 2}}},
		{"no counters left for the group", [][]byte{nil}, totals{}},
		{"another group's", [][]byte{words(1, 7), words(3, 7, 9)}, totals{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got totals
			for _, b := range tt.reads {
				got.add(b, names)
			}
			if diff := cmp.Diff(tt.want, got, unexported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEvidenceOfCounters(t *testing.T) {
	before := totals{switches: {10, 1}, arrivals: {1, 1}, aperf: {1000, 1}, mperf: {2000, 1}, smis: {3, 1},
		instructions: {5, 1}, cacheMisses: {9, 1}}
	after := totals{switches: {14, 1}, arrivals: {1, 1}, aperf: {4600, 1}, mperf: {5000, 1}, smis: {4, 1},
		instructions: {8, 1}, cycles: {7, 1}, cacheMisses: {8, 1}}
	got := Between(Snapshot{perf: before}, Snapshot{perf: after}, Facts{})
	want := api.Evidence{CPUSwitches: new(int64(4)), CPUArrivals: new(int64(0)), FrequencyRatio: new(1.2),
		SMIs: new(int64(1)), Instructions: new(int64(3))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLivePerf checks that the events of the running kernel are opened and count, or that the kernel refuses them.
// Context switches of all CPUs grow when this test causes some.
func TestLivePerf(t *testing.T) {
	fs := hostfs.New("/")
	online, err := fs.Read("/sys/devices/system/cpu/online")
	if err != nil {
		t.Fatal(err)
	}
	cpus, err := cpuset.Parse(online)
	if err != nil {
		t.Fatal(err)
	}
	direct, refused := linux.OpenPerf(linux.PerfEvent{Type: 1, Config: [3]uint64{linux.PerfContextSwitches}}, cpus[0],
		nil)
	if refused == nil {
		direct.Close()
	} else if !errors.Is(refused, syscall.EACCES) && !errors.Is(refused, syscall.EPERM) &&
		!errors.Is(refused, syscall.ENOSYS) {
		t.Fatal(refused)
	}
	r, err := NewReader(fs, cpus, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before := r.Snapshot()
	switchBackAndForth()
	e := Between(before, r.Snapshot(), Facts{})
	if refused != nil {
		if e.CPUSwitches != nil || e.CPUArrivals != nil || e.Instructions != nil {
			t.Errorf("perf says %v, and yet there is %+v", refused, e)
		}
		return
	}
	if e.CPUSwitches == nil || *e.CPUSwitches < 100 || e.CPUArrivals == nil {
		t.Errorf("after 100 switches: %+v", e)
	}
}

// switchBackAndForth blocks two threads on each other, 100 times.
func switchBackAndForth() {
	there, back := make(chan int), make(chan int)
	go func() {
		runtime.LockOSThread()
		for range there {
			back <- 0
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 100 {
		there <- 0
		<-back
	}
	close(there)
}

func TestTrafficOfTheCache(t *testing.T) {
	const mon = "/sys/fs/resctrl/mon_data/mon_L3_01/"
	const other = "/sys/fs/resctrl/guests/mon_data/mon_L3_01/"
	h := newHost(t, map[string]string{
		"/sys/devices/system/cpu/cpu2/cache/index3/id":                           "1\n",
		"/sys/devices/system/cpu/cpu3/cache/index3/id":                           "1\n",
		"/sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes":                     "999\n",
		"/sys/fs/resctrl/guests/mon_groups/one/mon_data/mon_L3_01/llc_occupancy": "7\n",
		mon + "mbm_total_bytes":                                                  "1000\n",
		mon + "mbm_local_bytes":                                                  "900\n",
		mon + "llc_occupancy":                                                    "64\n",
		other + "mbm_total_bytes":                                                "10\n",
		other + "mbm_local_bytes":                                                "10\n",
		other + "llc_occupancy":                                                  "Unavailable\n",
	})
	r := h.reader(2, 3)
	before := r.Snapshot()
	h.write(map[string]string{mon + "mbm_total_bytes": "6000\n", mon + "mbm_local_bytes": "5800\n",
		mon + "llc_occupancy":     "32\n",
		other + "mbm_total_bytes": "30\n", other + "mbm_local_bytes": "20\n"})
	got := Between(before, r.Snapshot(), Facts{})
	want := api.Evidence{L3Traffic: new(units.Bytes(5020)), L3Remote: new(units.Bytes(110)),
		L3Occupancy: new(units.Bytes(32))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	h.write(map[string]string{mon + "mbm_total_bytes": "Error\n"})
	if e := Between(before, r.Snapshot(), Facts{}); e.L3Traffic != nil || e.L3Remote != nil {
		t.Errorf("a monitor lost count, and yet there is %+v", e)
	}
}
