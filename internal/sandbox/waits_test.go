package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"judged/internal/testkit"
)

// TestWaits: the time that a run waits for others includes all its threads and processes, also those that have
// exited, and excludes what they wait for each other. This holds whether or not the kernel measures it.
func TestWaits(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	l := newLab(t, nil)
	share := File{Name: "share", Path: testkit.CompileC(t, "testdata/share.c", true), Exec: true}
	crowd(t, l, share, 2)
	for _, how := range []string{"first", "thread", "threads", "child", "children", "groups", "sleep"} {
		for name, unmeasured := range map[string]bool{"pressure": false, "counted": true} {
			t.Run(how+"/"+name, func(t *testing.T) {
				// judged, whose own wait after the end of the run counts as wall time, may have been late: one run of
				// several suffices.
				for try := 1; ; try++ {
					err := waitedRight(l.wait(t, share, how, unmeasured), how)
					if err == nil {
						return
					}
					if try == 5 {
						t.Fatal(err)
					}
					t.Log(err)
				}
			})
		}
	}
}

// waitedRight compares the time that a run waited with the time in which it did not work.
func waitedRight(r Result, how string) error {
	if r.Waited == nil {
		return errors.New("unknown")
	}
	waits := r.WallTime - r.CPUTime
	if how == "sleep" {
		waits = 0
	}
	// At least half of it: with many children, some of the time passes between the end of one and the start of
	// another.
	if slack := 60 * time.Millisecond; waits > slack && *r.Waited < waits/2 || *r.Waited > waits+slack {
		return fmt.Errorf("waited %s, want about %s: %s of CPU time in %s", *r.Waited, waits, r.CPUTime, r.WallTime)
	}
	return nil
}

// TestSiblingsAreNoOthers: threads of a run that share a CPU wait for each other, which the pressure "some"
// shows, and not for others. Other load on this host adds little.
func TestSiblingsAreNoOthers(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	l := newLab(t, nil)
	share := File{Name: "share", Path: testkit.CompileC(t, "testdata/share.c", true), Exec: true}
	for name, unmeasured := range map[string]bool{"pressure": false, "counted": true} {
		r := l.wait(t, share, "threads", unmeasured)
		idle := r.WallTime - r.CPUTime
		if slack := 60 * time.Millisecond; r.Waited == nil || *r.Waited > idle+slack {
			t.Errorf("%s: waited %v, want at most %s, the time in which none had the CPU", name, r.Waited, idle)
		}
	}
}

// TestWaitsOfAll: runs that share a limit have one time together, without what they wait for each other. The one that
// ends last has all of it.
func TestWaitsOfAll(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	l := newLab(t, nil)
	share := File{Name: "share", Path: testkit.CompileC(t, "testdata/share.c", true), Exec: true}
	for _, loops := range []int{0, 2} {
		t.Run(strconv.Itoa(loops)+" loops", func(t *testing.T) {
			if loops > 0 {
				crowd(t, l, share, loops)
			}
			for try := 1; ; try++ { // as in TestWaits
				err := l.waitTogether(t, share)
				if err == nil {
					return
				}
				if try == 5 {
					t.Fatal(err)
				}
				t.Log(err)
			}
		})
	}
}

func (l *lab) waitTogether(t *testing.T, share File) error {
	t.Helper()
	boxes := []*Sandbox{l.loaded(t, share), l.loaded(t, share)}
	boxes[0].others, boxes[1].others = boxes[1:], boxes[:1]
	var group errgroup.Group
	var all Result
	var mu sync.Mutex
	for _, s := range boxes {
		group.Go(func() error {
			r, err := s.Run(t.Context())
			mu.Lock()
			defer mu.Unlock()
			all.CPUTime += r.CPUTime
			if r.WallTime > all.WallTime {
				all.WallTime, all.Waited = r.WallTime, r.Waited
			}
			return err
		})
	}
	err := group.Wait()
	for _, s := range boxes { // each run reads the groups of all until it ends
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return waitedRight(all, "")
}

// loaded returns a sandbox with a program that works for 200 ms.
func (l *lab) loaded(t *testing.T, share File) *Sandbox {
	t.Helper()
	s, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(Spec{Args: []string{"./" + share.Name, "first", "200"}, Files: []File{share},
		Limits: limits()}); err != nil {
		t.Fatal(errors.Join(err, s.Close()))
	}
	return s
}

func (l *lab) wait(t *testing.T, share File, how string, unmeasured bool) Result {
	t.Helper()
	s, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.unmeasured = unmeasured
	spec := Spec{Args: []string{"./" + share.Name, how, "200"}, Files: []File{share}, Limits: limits()}
	if err := s.Load(spec); err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(context.Background())
	if err != nil || r.Code != 0 || r.Signal != 0 {
		t.Fatalf("exit %d, signal %v, error %v", r.Code, r.Signal, err)
	}
	return r
}

// crowd runs loops on the CPU of the slot until the test ends.
func crowd(t *testing.T, l *lab, share File, n int) {
	t.Helper()
	loops := exec.Command(share.Path, "load", strconv.Itoa(n), l.slot.CPUs.String())
	in, err := loops.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := loops.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := loops.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), loops.Wait() })
	if _, err := io.ReadFull(out, make([]byte, len("loaded"))); err != nil {
		t.Fatal("the loops did not start")
	}
}
