package linux

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const long = time.Minute // nothing here takes so long

// vigil watches what never ends, with so much CPU time used of 10 ms, of which
// 3 ms are of those before.
func vigil(t *testing.T, usage string) (v *Vigil, end *os.File) {
	t.Helper()
	ended, end, err := Pipe()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	used, err := os.Open(file("usage", usage))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		used.Close()
		ended.Close()
		end.Close()
	})
	return &Vigil{Ended: ended, Usage: used, Unit: time.Microsecond, Threads: file("threads", ""), Kill: file("kill", ""),
		Base: 3 * time.Millisecond, Limit: 10 * time.Millisecond, Width: 1, Pause: 100 * time.Microsecond, Break: long}, end
}

// TestVigilSchedules looks at the thread meanwhile and afterwards. The nice value
// stays; one without the right to be urgent stays as it is.
func TestVigilSchedules(t *testing.T) {
	if !IsRoot() {
		t.Fatal("needs root")
	}
	policy := func(policy, priority uint32) error {
		return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority, Nice: 7}, 0)
	}
	type seen struct{ Before, During, After string }
	for name, tt := range map[string]struct {
		prepare func() error
		want    seen
	}{
		"ordinary":  {func() error { return nil }, seen{"other 0 7", "fifo 1 7", "other 0 7"}},
		"batch":     {func() error { return policy(unix.SCHED_BATCH, 0) }, seen{"batch 0 7", "fifo 1 7", "batch 0 7"}},
		"real-time": {func() error { return policy(unix.SCHED_RR, 5) }, seen{"rr 5 7", "rr 5 7", "rr 5 7"}},
		"refused":   {noRights, seen{"other 0 7", "other 0 7", "other 0 7"}},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread() // and ends with the goroutine
			if err := errors.Join(policy(unix.SCHED_NORMAL, 0), tt.prepare()); err != nil {
				t.Fatal(err)
			}
			v, end := vigil(t, "usage_usec 4000")
			got := seen{Before: scheduling(t, "thread-self")}
			thread := "self/task/" + strconv.Itoa(unix.Gettid())
			go func() {
				defer end.Close()
				for !inPoll(thread) && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
				got.During = scheduling(t, thread)
			}()
			fate, at, err := v.Keep(Monotonic()+long, Monotonic()+long)
			if fate != VigilEnded || err != nil || at == 0 {
				t.Errorf("got %d at %v, %v; want the end", fate, at, err)
			}
			got.After = scheduling(t, "thread-self")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// noRights takes all capabilities from the thread.
func noRights() error {
	var none [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// TestVigilSlack: it is exact on a thread that is not, where real-time is refused;
// else the kernel sees to that.
func TestVigilSlack(t *testing.T) {
	runtime.LockOSThread() // and ends with the goroutine
	if err := errors.Join(SetTimerSlack(7*time.Millisecond), noRights()); err != nil {
		t.Fatal(err)
	}
	v, end := vigil(t, "usage_usec 4000")
	end.Close()
	if fate, _, err := v.Keep(Monotonic()+long, Monotonic()+long); fate != VigilEnded || err != nil {
		t.Errorf("got %d, %v", fate, err)
	}
	if got, _ := slackOf(t, unix.Gettid()); got != UsualSlack {
		t.Errorf("the slack is %v afterwards, want %v", got, UsualSlack)
	}
}

func inPoll(thread string) bool {
	call, _ := os.ReadFile("/proc/" + thread + "/syscall")
	return strings.HasPrefix(string(call), strconv.Itoa(unix.SYS_PPOLL)+" ")
}

// scheduling is policy, priority and nice value of a thread.
func scheduling(t *testing.T, thread string) string {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + thread + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after) // from the third on
	policy := map[string]string{"0": "other", "1": "fifo", "2": "rr", "3": "batch"}[fields[41-3]]
	return policy + " " + fields[40-3] + " " + fields[19-3]
}

// TestVigil wants the right end, and nothing killed but for CPU time.
func TestVigil(t *testing.T) {
	for name, tt := range map[string]struct {
		usage  string
		change func(*Vigil)
		ends   bool
		last   time.Duration // from now on
		fate   Fate
		killed string
	}{
		"time is over":             {"usage_usec 4000\nuser_usec 99999", nil, false, time.Millisecond, VigilOver, ""},
		"less than the limit":      {"usage_usec 12999\n", nil, false, 5 * time.Millisecond, VigilOver, ""},
		"ended":                    {"usage_usec 99999\n", nil, true, long, VigilEnded, ""},
		"the limit":                {"usage_usec 13000\nuser_usec 1\n", nil, false, long, VigilKilled, "1"},
		"more":                     {"usage_usec 99999", nil, false, long, VigilKilled, "1"},
		"v1 counts nanoseconds":    {"13000000\n", func(v *Vigil) { v.Unit = time.Nanosecond }, false, long, VigilKilled, "1"},
		"v1, less":                 {"12999999\n", func(v *Vigil) { v.Unit = time.Nanosecond }, false, time.Millisecond, VigilOver, ""},
		"two CPUs":                 {"usage_usec 13000", func(v *Vigil) { v.Width = 2 }, false, long, VigilKilled, "1"},
		"a far look":               {"usage_usec 10000", func(v *Vigil) { v.Break = v.Limit / 4 }, false, long, VigilOver, ""},
		"not as far as it seems":   {"usage_usec 10000", func(v *Vigil) { v.Exact, v.Break = 8*time.Millisecond, 2*time.Millisecond }, false, 3 * time.Millisecond, VigilOver, ""},
		"nothing to read":          {"", nil, false, long, VigilOver, ""},
		"no number":                {"usage_usec", nil, false, long, VigilOver, ""},
		"threads cannot be listed": {"usage_usec 99999", func(v *Vigil) { v.Threads += "-gone" }, false, long, VigilOver, ""},
		"threads do not matter":    {"usage_usec 12000", func(v *Vigil) { v.Threads, v.Exact = v.Threads+"-gone", v.Limit }, false, time.Millisecond, VigilOver, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v, end := vigil(t, tt.usage)
			if tt.change != nil {
				tt.change(v)
			}
			if tt.ends {
				end.Close()
			}
			now := Monotonic()
			fate, at, err := v.Keep(now, now+tt.last)
			if fate != tt.fate || err != nil || (at >= now) != tt.ends {
				t.Errorf("got %d at %v, %v; want %d", fate, at, err, tt.fate)
			}
			if tt.fate == VigilOver && tt.last < long && Monotonic() < now+tt.last {
				t.Error("it came back early")
			}
			if tt.last == long && Monotonic() > now+long/2 {
				t.Error("it stayed to the end")
			}
			killed, err := os.ReadFile(v.Kill)
			if string(killed) != tt.killed || err != nil {
				t.Errorf("killed %q, %v; want %q", killed, err, tt.killed)
			}
		})
	}
}

// TestVigilSignals has no cgroup.kill, and a list longer than a page.
func TestVigilSignals(t *testing.T) {
	r, w, err := Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	v, _ := vigil(t, "usage_usec 99999")
	var pids []int
	list := strings.Repeat("0\n", 2047) // another pid namespace's; the next number lies on both sides of a page's end
	for range 3 {
		pid, err := ForkSteps(&ForkedChild{Cgroup: -1, Report: int(w.Fd()), Steps: []Step{ReadByteStep("read", int(r.Fd())), {Name: "exit_group", Call: unix.SYS_EXIT_GROUP}}})
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
		list += strconv.Itoa(pid) + "\n"
	}
	if err := os.WriteFile(v.Threads, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	v.Kill += "-none"
	if fate, _, err := v.Keep(Monotonic(), Monotonic()+long); fate != VigilKilled || err != nil {
		t.Errorf("got %d, %v", fate, err)
	}
	for _, pid := range pids {
		status, _, err := Reap(pid)
		if err != nil || !status.Signaled() || status.Signal() != unix.SIGKILL {
			t.Errorf("process %d ended with %v, %v", pid, status, err)
		}
	}
}

// TestVigilAndRuntime waits beside a runtime that is busy on the same CPU: with a
// real-time thread inside the runtime one wait in a hundred takes a second of CPU
// time.
func TestVigilAndRuntime(t *testing.T) {
	if !IsRoot() {
		t.Fatal("needs root")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ours, err := Affinity()
	if err != nil {
		t.Fatal(err)
	}
	allThreads(t, ours[:1])
	defer allThreads(t, ours)
	runtime.LockOSThread() // for its CPU time
	defer runtime.UnlockOSThread()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	v, _ := vigil(t, "usage_usec 4000")
	var took []time.Duration
	for range 2000 {
		before, now := ThreadCPUTime(), Monotonic()
		if fate, _, err := v.Keep(now+100*time.Microsecond, now+100*time.Microsecond); fate != VigilOver || err != nil {
			t.Fatal(fate, err)
		}
		took = append(took, ThreadCPUTime()-before)
	}
	close(stop)
	<-stopped
	slices.Sort(took)
	// A thread that spins does so 40 000 times as long as others wait.
	if median, most := took[len(took)/2], took[len(took)-1]; most > 4000*median {
		t.Errorf("one wait took %v of CPU time, half of them %v at most", most, median)
	}
}

// allThreads puts every thread of this process on some CPUs, and so those that
// they start.
func allThreads(t *testing.T, cpus []int) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range threads {
		tid, _ := strconv.Atoi(e.Name()) // a number
		if err := SetAffinity(tid, cpus); err != nil && !errors.Is(err, unix.ESRCH) {
			t.Fatal(err)
		}
	}
}

// TestVigilKillsTheProcess has a cgroup.kill that kills nothing, which is what one does
// to a process whose first thread has exited.
func TestVigilKillsTheProcess(t *testing.T) {
	r, w, err := Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	pid, err := ForkSteps(&ForkedChild{Cgroup: -1, Report: int(w.Fd()), Steps: []Step{ReadByteStep("read", int(r.Fd())), {Name: "exit_group", Call: unix.SYS_EXIT_GROUP}}})
	if err != nil {
		t.Fatal(err)
	}
	v, _ := vigil(t, "usage_usec 99999")
	if v.Process, err = OpenProcess(pid); err != nil {
		t.Fatal(err)
	}
	defer v.Process.Close()
	if fate, _, err := v.Keep(Monotonic(), Monotonic()+long); fate != VigilKilled || err != nil {
		t.Errorf("got %d, %v", fate, err)
	}
	if err := w.Close(); err != nil { // it ends by itself if it was not killed
		t.Fatal(err)
	}
	status, _, err := Reap(pid)
	if err != nil || status.Signal() != unix.SIGKILL {
		t.Errorf("it ended with %#x, %v, want SIGKILL", int(status), err)
	}
}
