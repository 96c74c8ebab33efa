package sandbox

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/cpuset"
	"judged/internal/linux"
	"judged/internal/testkit"
)

// ordinary is what /proc shows of a thread: its policy and its real-time priority.
const ordinary = "policy 0, priority 0"

// scheduling reads it of a thread.
func scheduling(stat string) string {
	const priority, policy = 40 - 3, 41 - 3 // counted from the state, the third
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= policy {
		return "none"
	}
	return "policy " + fields[policy] + ", priority " + fields[priority]
}

// TestWait follows a supervisor to the last stretches before a limit, which are
// vigils but where they go on for too long. Here a vigil finds the limit reached.
func TestWait(t *testing.T) {
	l := newLab(t, nil)
	s, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	// It is parked, and does not end by itself.
	loads(t, s, Spec{Args: []string{"./act", "inspect"}, Files: []File{{Name: "act", Path: act(t), Exec: true}}, Limits: limits()}, "")
	w := watch{s: s, precise: 5 * time.Millisecond, start: linux.Monotonic()}
	v := s.group.Vigil()
	v.Ended, v.Kill, v.Threads, v.Exact, v.Width = s.solution.fd, "", "", time.Hour, 1
	w.vigil = v
	// Far enough not to be near by the time of the call, on a busy machine too.
	const near, far = time.Millisecond, 300 * time.Millisecond
	for _, step := range []struct {
		name   string
		before func()
		until  time.Duration // from now on
		want   Stop
	}{
		{"a near limit", func() {}, near, StopCPU},
		{"again", func() {}, near, StopCPU},
		{"a far limit, to its near", func() {}, far, StopCPU},
		{"for too long", func() { w.vigils -= 2 * vigilMost }, near, StopNone},
		{"still", func() {}, near, StopNone},
		{"another far limit", func() {}, far, StopCPU},
		{"time to look", func() { w.start -= s.limits.WallTime }, -near, StopNone},
	} {
		w.stop = StopNone
		step.before()
		at, err := w.wait(t.Context(), linux.Monotonic()+step.until)
		if at != 0 || err != nil {
			t.Errorf("%s: the end at %v, %v, of what does not end", step.name, at, err)
		}
		if w.stop != step.want {
			t.Errorf("%s: stop %d, want %d", step.name, w.stop, step.want)
		}
	}
}

// TestNoRealTimeIsLeft ends runs in each way, those far from a limit and those at
// one, and wants every thread ordinary, and the program's too.
func TestNoRealTimeIsLeft(t *testing.T) {
	l := newLab(t, nil)
	file := File{Name: "act", Path: act(t), Exec: true}
	for _, tt := range []struct {
		name  string
		args  []string
		limit func(*Limits)
		stop  Stop
	}{
		{"by itself", []string{"./act", "inspect"}, func(*Limits) {}, StopNone},
		{"by itself, after vigils", []string{"sleep", "1"}, func(l *Limits) { l.CPUTime = 300 * time.Millisecond }, StopNone},
		{"at the CPU limit", []string{"./act", "spin"}, func(l *Limits) { l.CPUTime = 30 * time.Millisecond }, StopCPU},
		{"at the wall limit", []string{"./act", "sleep"}, func(l *Limits) { l.WallTime = 30 * time.Millisecond }, StopWall},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := Spec{Args: tt.args, Files: []File{file}, Limits: limits()}
			tt.limit(&spec.Limits)
			if r, _ := l.run(t, spec); r.Stop != tt.stop {
				t.Errorf("stop %d, want %d", r.Stop, tt.stop)
			}
			noneRealTime(t)
		})
	}
}

// noneRealTime wants all threads of this process ordinary.
func noneRealTime(t *testing.T) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range threads {
		if got := scheduling(read("/proc/self/task/" + e.Name() + "/stat")); got != ordinary && got != "none" {
			t.Errorf("thread %s has %s", e.Name(), got)
		}
	}
}

// TestPrecision wants a supervisor whose CPUs are all the run's to wake up in good
// time.
func TestPrecision(t *testing.T) {
	testkit.Need(t, testkit.Root)
	runtime.LockOSThread() // and ends with the goroutine: its CPUs are its own
	ours, err := linux.Affinity()
	if err != nil {
		t.Fatal(err)
	}
	all := cpuset.New(ours...)
	if diff := cmp.Diff(statusOf("/proc/thread-self/status")("Cpus_allowed_list"), all.String()); diff != "" {
		t.Errorf("CPUs of the thread (-kernel +got)\n%s", diff)
	}
	one, got := cpuset.New(ours[0]), map[string]time.Duration{}
	if got["one of ours"], err = precision(one); err != nil {
		t.Fatal(err)
	}
	if err := linux.SetAffinity(0, one); err != nil {
		t.Fatal(err)
	}
	for name, cpus := range map[string]cpuset.Set{"all": all, "ours": one, "not ours": all.Minus(one)} {
		if got[name], err = precision(cpus); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]time.Duration{"all": 20 * time.Millisecond, "ours": 20 * time.Millisecond, "not ours": 3 * time.Millisecond, "one of ours": 3 * time.Millisecond}
	if len(all) == 1 {
		want["one of ours"] = want["ours"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestNextWake wants the earliest moment that a limit can be reached at, whenever
// it is asked for.
func TestNextWake(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name             string
		cpus             int
		wall             time.Duration
		left, at, markAt time.Duration // the last two from the start on
		want             time.Duration // from the start on
	}{
		{"CPU time, from the start", 1, 1000 * ms, 100 * ms, 0, 0, 100 * ms},
		{"of two CPUs at once", 2, 1000 * ms, 100 * ms, 0, 0, 50 * ms},
		{"what is left, from when it was so much", 2, 1000 * ms, 60 * ms, 30 * ms, 0, 60 * ms},
		{"late in the wall time", 1, 120 * ms, 100 * ms, 0, 0, 90 * ms},
		{"after that the wall time", 1, 120 * ms, 195 * ms, 91 * ms, 91 * ms, 120 * ms},
		{"over", 1, 1000 * ms, -3 * ms, 107 * ms, 0, 104 * ms},
	} {
		const start = 5000 * time.Hour
		w := watch{s: &Sandbox{slot: Slot{CPUs: firstCPUs(tt.cpus)}, limits: Limits{WallTime: tt.wall}}, start: start, markAt: tt.markAt}
		if got := w.nextWake(tt.left, start+tt.at) - start; got != tt.want {
			t.Errorf("%s: %v after the start, want %v", tt.name, got, tt.want)
		}
	}
}

func firstCPUs(n int) cpuset.Set {
	var cpus cpuset.Set
	for cpu := range n {
		cpus = cpus.Union(cpuset.New(cpu))
	}
	return cpus
}

// TestLeft wants readings that may be a tick of each CPU old not taken for exact.
func TestLeft(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name       string
		cpus       int
		nohzFull   bool
		used, want time.Duration // of 100 ms
	}{
		{"far from the limit", 1, false, 30 * ms, 60 * ms},
		{"of two CPUs", 2, false, 30 * ms, 50 * ms},
		{"where readings are exact", 1, false, 90 * ms, 10 * ms},
		{"where they are not yet", 2, false, 79 * ms, 1 * ms},
		{"exact at every look, without ticks", 2, true, 30 * ms, 70 * ms},
		{"beyond", 1, false, 103 * ms, -3 * ms},
	} {
		w := watch{s: &Sandbox{slot: Slot{CPUs: firstCPUs(tt.cpus), NohzFull: tt.nohzFull}, limits: Limits{CPUTime: 100 * ms}}}
		if got := w.left(tt.used); got != tt.want {
			t.Errorf("%s: %v left, want %v", tt.name, got, tt.want)
		}
	}
}
