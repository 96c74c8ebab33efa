package sandbox

import (
	"context"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/testkit"
)

// ownUsers returns the IDs of this binary's runs; no other test uses them.
func ownUsers() testkit.Users {
	return testkit.Users{First: 1<<22 + os.Getpid()%4096*1000, Count: 1000}
}

// TestNothingIsLeft ends sandboxes at each possible stage, and compares the host, judged and judged-init with
// their state before.
func TestNothingIsLeft(t *testing.T) {
	// The garbage collector would close forgotten files.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	users := ownUsers()
	l := newLab(t, func(o *Options) { o.UIDFirst, o.UIDCount = users.First, users.Count })
	litter := Spec{Args: []string{"./act", "litter"}, Files: []File{{Name: "act", Path: act(t), Exec: true}},
		Limits: limits()}
	spec := func(change func(*Spec)) Spec { s := litter; change(&s); return s }
	verb := func(word string) func(*Spec) { return func(s *Spec) { s.Args = []string{"./act", word} } }
	host := func(s *Spec) { s.Args = []string{"echo", "a"} } // a program of the host, in guests too
	for _, tt := range []struct {
		name string
		live func(t *testing.T, s *Sandbox)
		slot func(*Resources)
		fail string // substring of the error of Prepare
	}{
		{name: "run that litters", live: func(t *testing.T, s *Sandbox) { runs(t, s, litter, StopNone) }},
		{name: "run with a tree", live: func(t *testing.T, s *Sandbox) { runs(t, s, spec(host), StopNone) }},
		{name: "loaded with a tree and not run", live: func(t *testing.T, s *Sandbox) { loads(t, s, spec(host), "") }},
		{name: "tree of another version", live: func(t *testing.T, s *Sandbox) {
			s.slot.Trees.kept[len(s.slot.Trees.kept)-1].closure[0]++
			runs(t, s, spec(host), StopNone)
		}},
		{name: "no trees", slot: func(s *Resources) { s.Trees = nil }, live: func(t *testing.T, s *Sandbox) {
			loads(t, s, spec(host), "the slot has no trees")
		}},
		{name: "prepared and not loaded", live: func(*testing.T, *Sandbox) {}},
		{name: "loaded and not run", live: func(t *testing.T, s *Sandbox) { loads(t, s, litter, "") }},
		{name: "cancelled", live: cancelled(litter)},
		{name: "CPU time limit", live: func(t *testing.T, s *Sandbox) {
			runs(t, s, spec(func(s *Spec) { verb("spin")(s); s.Limits.CPUTime = 20 * time.Millisecond }), StopCPU)
		}},
		{name: "wall time limit", live: func(t *testing.T, s *Sandbox) {
			runs(t, s, spec(func(s *Spec) { verb("sleep")(s); s.Limits.WallTime = 20 * time.Millisecond }), StopWall)
		}},
		{name: "memory limit", live: func(t *testing.T, s *Sandbox) {
			runs(t, s, spec(func(s *Spec) { verb("litter")(s); s.Limits.Memory = 64 << 10 }), StopNone)
		}},
		{name: "orphan", live: func(t *testing.T, s *Sandbox) { runs(t, s, spec(verb("orphan")), StopNone) }},
		{name: "program that does not execute", live: func(t *testing.T, s *Sandbox) {
			runs(t, s, spec(func(s *Spec) { s.Args = []string{"./none"} }), StopNone)
		}},
		{name: "file that cannot be copied", live: func(t *testing.T, s *Sandbox) {
			loads(t, s, spec(func(s *Spec) { s.Files = append(s.Files, File{Name: "x", Path: "/never/was"}) }),
				"/never/was")
		}},
		{name: "argument that cannot be passed", live: func(t *testing.T, s *Sandbox) {
			loads(t, s, spec(func(s *Spec) { s.Args = []string{"./act", "a\x00b"} }), "invalid argument")
		}},
		{name: "step of the jail that fails", slot: func(s *Resources) { s.CPUs = cpuset.New(8191) },
			live: func(t *testing.T, s *Sandbox) { loads(t, s, litter, "sched_setaffinity") }},
		{name: "limit that the kernel refuses", live: func(t *testing.T, s *Sandbox) {
			loads(t, s, spec(func(s *Spec) { s.Limits.Processes = -1 }), "invalid argument")
		}},
		{name: "no network", slot: func(s *Resources) { s.Network = s.Copies.ramfs }, fail: "setns network"},
		{name: "no box", slot: func(s *Resources) { s.BindNode, s.Node = true, 1000 }, live: func(t *testing.T,
			s *Sandbox) {
			loads(t, s, litter, "invalid argument")
		}},
		{name: "judged-init killed before the load", live: func(t *testing.T, s *Sandbox) {
			killInit(t, l)
			runs(t, s, litter, StopNone)
		}},
		{name: "judged-init killed before the run", live: func(t *testing.T, s *Sandbox) {
			loads(t, s, litter, "")
			killInit(t, l)
			if r, err := s.Run(context.Background()); err != nil || r.Stop != StopNone {
				t.Errorf("does not finish without judged-init: %+v, %v", r, err)
			}
		}},
		{name: "process 1 killed while the program runs", live: func(t *testing.T, s *Sandbox) {
			loads(t, s, spec(verb("sleep")), "")
			var r Result
			ended := make(chan error, 1)
			go func() {
				var err error
				r, err = s.Run(context.Background())
				ended <- err
			}()
			testkit.WaitFor(t, time.Minute, "the program to run", func() bool {
				return statusOf("/proc/"+strconv.Itoa(s.solution.pid)+"/status")("Name") == "act"
			})
			if err := syscall.Kill(s.process1.pid, syscall.SIGKILL); err != nil { // only Close reaps it
				t.Error(err)
			}
			if err := <-ended; err != nil || r.Stop != StopNone || r.Signal != syscall.SIGKILL {
				t.Errorf("not killed with its namespace: %+v, %v", r, err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l.run(t, litter) // judged-init runs again
			l.forgetCopies(t)
			traces := testkit.Watch(t, users)
			slot := l.slot
			if tt.slot != nil {
				tt.slot(&slot)
			}
			s, err := l.Prepare(slot)
			if tt.fail != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fail) {
					t.Errorf("Prepare returns %v, want %q", err, tt.fail)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if s != nil {
				live(t, s, tt.live)
			}
			l.run(t, litter) // restarts judged-init if it was killed
			l.forgetCopies(t)
			traces.None(t)
		})
	}
}

// forgetCopies removes the copies that are kept for later runs, but not those in use.
func (l *lab) forgetCopies(t *testing.T) {
	t.Helper()
	limit := l.copies.limit
	l.copies.limit = 0
	if err := l.copies.makeRoom(0); err != nil {
		t.Error(err)
	}
	l.copies.limit = limit
}

func live(t *testing.T, s *Sandbox, life func(*testing.T, *Sandbox)) {
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	life(t, s)
}

// runs expects a complete run with the given stop.
func runs(t *testing.T, s *Sandbox, spec Spec, want Stop) {
	t.Helper()
	loads(t, s, spec, "")
	r, err := s.Run(context.Background())
	if err != nil || r.Stop != want {
		t.Errorf("got %+v, %v; want stop %d", r, err, want)
	}
}

// loads expects an error that contains part, or none.
func loads(t *testing.T, s *Sandbox, spec Spec, part string) {
	t.Helper()
	err := s.Load(spec)
	if (err == nil) != (part == "") || err != nil && !strings.Contains(err.Error(), part) {
		t.Fatalf("Load returns %v, want %q", err, part)
	}
}

func cancelled(litter Spec) func(*testing.T, *Sandbox) {
	return func(t *testing.T, s *Sandbox) {
		litter.Args = []string{"./act", "sleep"}
		loads(t, s, litter, "")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if r, err := s.Run(ctx); err != nil || r.Stop != StopCancelled {
			t.Errorf("got %+v, %v; want StopCancelled", r, err)
		}
	}
}

// killInit kills judged-init and waits until it has ended.
func killInit(t *testing.T, l *lab) {
	t.Helper()
	if err := l.process.Kill(); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, time.Minute, "judged-init to end", func() bool {
		return strings.HasPrefix(state(l.process.Pid), "Z")
	})
}

// state returns the third field of /proc/PID/stat.
func state(pid int) string {
	stat := read("/proc/" + strconv.Itoa(pid) + "/stat")
	return strings.TrimSpace(stat[strings.LastIndexByte(stat, ')')+1:])
}

// TestLauncherLeavesNothing opens and closes a launcher and checks for leftovers.
func TestLauncherLeavesNothing(t *testing.T) {
	testkit.Need(t, testkit.Root)
	o := Options{Root: RootPrivate, BoxBytes: 1 << 20, BoxInodes: 64, UIDFirst: ownUsers().First, UIDCount: 1}
	opened := func() {
		l, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		l.Close() // a second call is harmless
	}
	opened()
	traces := testkit.Watch(t, ownUsers())
	opened()
	traces.None(t)
}
