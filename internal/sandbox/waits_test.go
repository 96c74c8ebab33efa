package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"testing"
	"time"

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
	if slack := 60 * time.Millisecond; *r.Waited < waits/2 || *r.Waited > waits+slack {
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
