package evidence

import (
	"fmt"
	"testing"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// kernelHost is a host on whose CPU 1 a run of 1 s reaches its limit of 0.4 s. Before and after that, others used 100
// and 500 ms, in ticks of user and of system time that the tests choose.
type kernelHost struct {
	user, system int           // ticks of the run and of others after the limit
	threads      time.Duration // time of the kernel's threads after the limit
	comm         string
	facts        Facts
}

func (k kernelHost) foreignSystem(t *testing.T) *time.Duration {
	t.Helper()
	stat := func(user, system, softirq int) string {
		return fmt.Sprintf("cpu 0\ncpu1 %d 0 %d 0 0 0 %d 0 0 0\n", user, system, softirq)
	}
	busy := func(d time.Duration) string { return fmt.Sprintf("cpu1 0 0 0 0 0 0 %d 0 0\n", d) }
	h := newHost(t, map[string]string{
		"/proc/2/comm": k.comm + "\n", "/proc/2/task/2/children": "10 11 12 ",
		"/proc/2/schedstat": "5 0 0\n", "/proc/10/schedstat": "1000 0 0\n", "/proc/11/schedstat": "900000000 7 7\n",
		"/proc/stat": stat(1000, 1000, 0), "/proc/schedstat": busy(0),
	})
	r := h.reader(1)
	before := r.Snapshot()
	h.write(map[string]string{"/proc/stat": stat(1030, 1020, 0), "/proc/schedstat": busy(500 * ms)})
	if e := Between(before, r.GlanceAtLimit(&before), k.facts); value(e.ForeignSystemTime) != 0 {
		t.Errorf("%s before the limit", *e.ForeignSystemTime)
	}
	h.write(map[string]string{
		"/proc/stat": stat(1030+k.user, 1020+k.system, 9), "/proc/schedstat": busy(1500 * ms),
		"/proc/10/schedstat": fmt.Sprintf("%d 0 0\n", 1000+k.threads/2),
		"/proc/12/schedstat": fmt.Sprintf("%d 0 0\n", k.threads/2), // a new thread
	})
	inFlight := Between(before, r.GlanceAtLimit(&before), k.facts).ForeignSystemTime
	final := Between(before, r.SnapshotAfter(before), k.facts).ForeignSystemTime
	if value(inFlight) != value(final) {
		t.Errorf("%v in flight, %v at the end", value(inFlight), value(final))
	}
	return final
}

// TestForeignSystemTime checks that of the time in kernel mode that was not the run's, only the time of programs counts
// as foreign.
func TestForeignSystemTime(t *testing.T) {
	run := Facts{CPUTime: 500 * ms, UserTime: 450 * ms, SystemTime: 50 * ms, WallTime: time.Second, Width: 1}
	unsplit := Facts{CPUTime: 500 * ms, WallTime: time.Second, Width: 1}
	for _, tt := range []struct {
		name string
		host kernelHost
		want time.Duration // 0 means unknown or none
	}{
		{"a program", kernelHost{40, 60, 0, "kthreadd", run}, 540 * ms}, // 600 minus a tick and the run's own
		{"a program and the kernel", kernelHost{40, 60, 200 * ms, "kthreadd", run}, 340 * ms},
		{"the kernel, for the run", kernelHost{40, 60, 600 * ms, "kthreadd", run}, 0},
		{"no more than others had", kernelHost{90, 160, 0, "kthreadd", run}, 260 * ms}, // 1 s minus 740 in user mode
		{"a run without a split of its time", kernelHost{40, 60, 0, "kthreadd", unsplit}, 90 * ms},
		{"threads of the kernel are not visible", kernelHost{40, 60, 0, "sh", run}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := value(tt.host.foreignSystem(t)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// TestForeignUserTimeWithoutASplit checks that if the kernel does not report how much of the run's time was in user
// mode, all of it is assumed to be, so none counts as foreign.
func TestForeignUserTimeWithoutASplit(t *testing.T) {
	before := Snapshot{source: cpuacct, busy: tally{0, 1}, ticks: ticks{user: tally{0, 2}}}
	after := Snapshot{source: cpuacct, busy: tally{uint64(900 * ms), 1}, ticks: ticks{user: tally{51, 2}}}
	e := Between(before, after, Facts{CPUTime: 500 * ms, WallTime: time.Second})
	if got := value(e.ForeignUserTime); got != 0 {
		t.Errorf("%s of others in user mode, want none: those ticks are the run's", got)
	}
}

// TestLiveKernelThreads checks that the threads of the running kernel are read if they are visible.
func TestLiveKernelThreads(t *testing.T) {
	fs := hostfs.New("/")
	r, err := NewReader(fs, cpuset.New(0), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	name, _ := fs.Read("/proc/2/comm")
	visible := name == "kthreadd" && fs.Exists("/proc/2/task/2/children")
	before := r.kernelThreads()
	if visible != (len(before) > 1) {
		t.Errorf("%d threads of the kernel, but it shows them: %v", len(before), visible)
	}
	if d := before.growth(r.kernelThreads()); d > time.Minute {
		t.Errorf("they have run for %s meanwhile", d)
	}
}
