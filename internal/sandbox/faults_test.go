package sandbox

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/testkit"
)

var failEvery = flag.Int("fail-every", 487, "TestSetUpFails makes every n-th system call fail")

// TestSetUpFails makes each n-th system call (all with -fail-every=1) that prepares and loads a sandbox fail:
// calls of judged, judged-init, process 1 and the parked child, and of the threads that hold mounts. Meanwhile
// a program runs in another slot. It must be unaffected, the failed sandbox must be removed completely, and the
// next one must work.
func TestSetUpFails(t *testing.T) {
	faults := testkit.NewFaults(t)
	users := ownUsers()
	l := newLab(t, func(o *Options) { o.UIDFirst, o.UIDCount = users.First, users.Count })
	own := Spec{Args: []string{"./act", "print", "a"}, Files: []File{{Name: "act", Path: act(t), Exec: true}},
		Limits: limits()}
	own.FIFOs, own.Folder, own.OutputFile = []string{"pipe"}, "folder", "answer"
	host := Spec{Args: []string{"echo", "a"}, Limits: limits()}

	other, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	sleeps := own
	sleeps.Args, sleeps.Limits.WallTime = []string{"./act", "sleep"}, time.Hour
	loads(t, other, sleeps, "")
	own.Input, own.InputFile = l.input(t, "1"), "in"
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	var result Result
	go func() {
		defer close(ended)
		result, err = other.Run(ctx)
	}()
	defer func() {
		cancel()
		<-ended
		if err := errors.Join(err, other.Close()); err != nil || result.Stop != StopCancelled {
			t.Errorf("the run of the other slot: %+v, %v", result, err)
		}
	}()

	group, err := l.tree.Subtree(cpuset.New(0), cpuset.New(l.slot.Node))
	if err != nil {
		t.Fatal(err)
	}
	slot := l.slot
	slot.CPUs, slot.Group = cpuset.New(0), group
	l.watchThreads(t, faults)
	for name, spec := range map[string]Spec{"static": own, "with a tree": host} {
		t.Run(name, func(t *testing.T) {
			n, cases := 1, 0
			for failed := true; failed; n, cases = n+*failEvery, cases+1 {
				l.forgetCopies(t)
				if err := group.Trim(); err != nil {
					t.Fatal(err)
				}
				traces, places := testkit.Watch(t, users), l.places()
				failed = l.setUpFails(t, faults, slot, spec, n)
				select {
				case <-ended:
					t.Fatalf("call %d: the run of the other slot ended: %+v, %v", n, result, err)
				default:
				}
				l.forgetCopies(t)
				if err := group.Trim(); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(places, l.places()); diff != "" {
					t.Fatalf("call %d: mounts of the mount store -before +after:\n%s", n, diff)
				}
				traces.None(t)
			}
			t.Logf("%d calls of at most %d have failed", cases-1, n)
			if n < 100 {
				t.Errorf("there were only %d calls", n)
			}
		})
	}
}

// watchThreads makes faults watch the threads of the launcher and judged-init, which inherits the filter from
// its thread.
func (l *lab) watchThreads(t *testing.T, faults *testkit.Faults) {
	t.Helper()
	watched := make(chan error)
	l.thread <- func() { watched <- faults.Watch() }
	if err := errors.Join(<-watched, l.mounts.do(faults.Watch)); err != nil {
		t.Fatal(err)
	}
	killInit(t, l)
	if _, out := l.run(t, Spec{Args: []string{"echo", "a"}, Limits: limits()}); out != "a\n" {
		t.Fatalf("output %q", out)
	}
}

// setUpFails prepares and loads a sandbox while one call fails, and then another one. It returns false if there
// are fewer calls.
func (l *lab) setUpFails(t *testing.T, faults *testkit.Faults, slot Resources, spec Spec, n int) bool {
	t.Helper()
	slot.Trees = l.NewTrees(slot)
	l.finder.Forget()
	var s *Sandbox
	var call string
	err := faults.OnThread(func() (err error) {
		faults.FailAt(n)
		defer func() { call = faults.Stop() }()
		if s, err = l.Prepare(slot); err == nil {
			err = s.Load(spec)
		}
		return err
	})
	if call == "" && err != nil {
		t.Errorf("nothing was made to fail, but %v", err)
	}
	if s != nil {
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	if err := slot.Trees.Close(); err != nil {
		t.Errorf("%s: %v", call, err)
	}
	if r, out := l.run(t, spec); r.Code != 0 || r.Signal != 0 || r.ExecError != 0 || out != "a\n" {
		t.Errorf("%s: the next run: %+v, output %q", call, r, out)
	}
	return call != ""
}
