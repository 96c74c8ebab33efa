package linux

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestUrgent makes nice threads urgent, one real-time already, and looks at each,
// at what it starts meanwhile, and at it afterwards.
func TestUrgent(t *testing.T) {
	if !IsRoot() {
		t.Fatal("needs root")
	}
	type seen struct{ Before, During, Started, After string }
	for name, tt := range map[string]struct {
		prepare func() error
		want    seen
	}{
		"ordinary":  {func() error { return nil }, seen{"other 0 7", "fifo 1 7", "other 0 0", "other 0 7"}},
		"batch":     {func() error { return setPolicy(unix.SCHED_BATCH, 0) }, seen{"batch 0 7", "fifo 1 7", "other 0 0", "batch 0 7"}},
		"real-time": {func() error { return setPolicy(unix.SCHED_RR|unix.SCHED_RESET_ON_FORK, 5) }, seen{"rr 5 7", "rr 5 7", "other 0 0", "rr 5 7"}},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread() // and ends with the goroutine
			if err := errors.Join(unix.Setpriority(unix.PRIO_PROCESS, 0, 7), tt.prepare()); err != nil {
				t.Fatal(err)
			}
			got := seen{Before: scheduling(t, "thread-self")}
			back, err := Urgent()
			if err != nil {
				t.Fatal(err)
			}
			got.During, got.Started = scheduling(t, "thread-self"), started(t)
			if err := back(); err != nil {
				t.Fatal(err)
			}
			got.After = scheduling(t, "thread-self")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
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

// started is the same of a process that the calling thread forks.
func started(t *testing.T) string {
	t.Helper()
	r, w, err := Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pid, err := ForkSteps(&ForkedChild{Cgroup: -1, Report: int(w.Fd()), Steps: []Step{ReadByteStep("read", int(r.Fd())), {Name: "exit_group", Call: unix.SYS_EXIT_GROUP}}})
	if err != nil {
		t.Fatal(err)
	}
	got := scheduling(t, strconv.Itoa(pid))
	w.Write([]byte{1})
	w.Close()
	if _, _, err := Reap(pid); err != nil {
		t.Error(err)
	}
	return got
}
