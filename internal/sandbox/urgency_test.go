package sandbox

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"judged/internal/cpuset"
	"judged/internal/linux"
	"judged/internal/testkit"
)

// ordinary and realTime are what /proc shows of a thread: its policy and its
// real-time priority.
const (
	ordinary = "policy 0, priority 0"
	realTime = "policy 1, priority 1"
)

// scheduling reads it of a thread.
func scheduling(stat string) string {
	const priority, policy = 40 - 3, 41 - 3 // counted from the state, the third
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= policy {
		return "none"
	}
	return "policy " + fields[policy] + ", priority " + fields[priority]
}

// TestUrgency follows a supervisor to the last stretch before a limit, where the
// thread must come before others, and back.
func TestUrgency(t *testing.T) {
	testkit.Need(t, testkit.Root)
	runtime.LockOSThread() // to see the same thread all the time
	defer runtime.UnlockOSThread()
	never, end, err := linux.ReadPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer never.Close()
	defer end.Close()
	w := watch{precise: 5 * time.Millisecond}
	wait := func(timeout time.Duration) func() error {
		return func() error {
			over, err := w.wait(t.Context(), never, linux.Monotonic()+timeout)
			if over {
				t.Error("the end of what does not end")
			}
			return err
		}
	}
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"start", func() error { return nil }, ordinary},
		{"wait for a near limit", wait(time.Millisecond), realTime},
		{"wait again", wait(time.Millisecond), realTime},
		{"wait for a far limit, to its near", wait(20 * time.Millisecond), realTime},
		{"end", w.urgency.end, ordinary},
		{"end again", w.urgency.end, ordinary},
		{"wait after the end", wait(time.Millisecond), realTime},
		{"urgent for too long", func() error { w.urgency.since -= 2 * urgentMost; return wait(time.Millisecond)() }, ordinary},
		{"wait on", wait(time.Millisecond), ordinary},
		{"wait for a far limit", wait(20 * time.Millisecond), realTime},
		{"end at last", w.urgency.end, ordinary},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := scheduling(read("/proc/thread-self/stat")); got != step.want {
			t.Errorf("%s: the thread has %s, want %s", step.name, got, step.want)
		}
	}
}

// TestNoUrgencyIsLeft ends runs in each way, those far from a limit and those at
// one, and wants every thread ordinary, and the program's too.
func TestNoUrgencyIsLeft(t *testing.T) {
	l := newLab(t, nil)
	file := File{Name: "act", Path: act(t), Exec: true}
	for _, tt := range []struct {
		name  string
		verb  string
		limit func(*Limits)
		stop  Stop
	}{
		{"by itself", "inspect", func(*Limits) {}, StopNone},
		{"by itself, near its limit", "inspect", func(l *Limits) { l.WallTime = 90 * time.Millisecond }, StopNone},
		{"at the CPU limit", "spin", func(l *Limits) { l.CPUTime = 30 * time.Millisecond }, StopCPU},
		{"at the wall limit", "sleep", func(l *Limits) { l.WallTime = 30 * time.Millisecond }, StopWall},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := Spec{Args: []string{"./act", tt.verb}, Files: []File{file}, Limits: limits()}
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
	want := map[string]time.Duration{"all": 20 * time.Millisecond, "ours": 20 * time.Millisecond, "not ours": 2 * time.Millisecond, "one of ours": 2 * time.Millisecond}
	if len(all) == 1 {
		want["one of ours"] = want["ours"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestUrgencyRefused leaves a thread as it is that may not be urgent.
func TestUrgencyRefused(t *testing.T) {
	testkit.Need(t, testkit.Root)
	runtime.LockOSThread() // and ends with the goroutine: it has no rights any more
	header, none := struct{ version, pid uint32 }{version: 0x20080522}, [6]uint32{}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0); errno != 0 {
		t.Fatal(errno)
	}
	var u urgency
	for _, step := range []func() error{u.begin, u.begin, u.end} {
		if err := step(); err != nil {
			t.Error(err)
		}
		if got := scheduling(read("/proc/thread-self/stat")); got != ordinary {
			t.Errorf("the thread has %s, want %s", got, ordinary)
		}
	}
}

// TestNextWake wants the earliest moment that a limit can be reached at, whenever
// it is asked for.
func TestNextWake(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name             string
		cpus             int
		cpu, wall        time.Duration
		used, at, markAt time.Duration // the last two from the start on
		want             time.Duration // from the start on
	}{
		{"CPU time, from the start", 1, 100 * ms, 1000 * ms, 0, 0, 0, 100 * ms},
		{"of two CPUs at once", 2, 100 * ms, 1000 * ms, 0, 0, 0, 50 * ms},
		{"what is left, from when it was so much", 2, 100 * ms, 1000 * ms, 40 * ms, 30 * ms, 0, 60 * ms},
		{"late in the wall time", 1, 100 * ms, 120 * ms, 0, 0, 0, 90 * ms},
		{"after that the wall time", 1, 200 * ms, 120 * ms, 5 * ms, 91 * ms, 91 * ms, 120 * ms},
		{"over", 1, 100 * ms, 1000 * ms, 103 * ms, 107 * ms, 0, 104 * ms},
	} {
		var cpus cpuset.Set
		for cpu := range tt.cpus {
			cpus = cpus.Union(cpuset.New(cpu))
		}
		const start = 5000 * time.Hour
		w := watch{s: &Sandbox{slot: Slot{CPUs: cpus}, limits: Limits{CPUTime: tt.cpu, WallTime: tt.wall}}, start: start, markAt: tt.markAt}
		if got := w.nextWake(tt.used, start+tt.at) - start; got != tt.want {
			t.Errorf("%s: %v after the start, want %v", tt.name, got, tt.want)
		}
	}
}
