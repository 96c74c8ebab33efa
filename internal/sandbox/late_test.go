package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"judged/internal/base/linux"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

// ptraceOExit stops a traced process when it exits, even if it was killed, and keeps it stopped, like a process
// that the kernel cannot end yet.
const ptraceOExit = 0x40

// TestLateEnds: if processes do not exit in time after SIGKILL, the error names the next step. When they exit
// later, nothing is left behind.
func TestLateEnds(t *testing.T) {
	users := ownUsers()
	l := newLab(t, func(o *Options) { o.UIDFirst, o.UIDCount = users.First, users.Count })
	program := family(t)
	usual := Spec{Args: []string{"./family", "leave", "sleep"}, Files: []File{program}, Limits: limits()}
	for _, tt := range []struct {
		name string
		end  func(t *testing.T, s *Sandbox) (held int, err error)
		says string
	}{
		{"first process of a run", func(t *testing.T, s *Sandbox) (int, error) {
			hold(t, s.solution.pid)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := s.Run(ctx)
			return s.solution.pid, err
		}, `^run: kill the run: still alive after SIGKILL; look for a process in state D$`},
		{"another process of a run", func(t *testing.T, s *Sandbox) (int, error) {
			done := start(t, s)
			pid := stormOf(t, s)
			hold(t, pid)
			startStorm(t, s)
			return pid, <-done
		}, `^run: kill the run's processes: some are still alive; look for processes in state D$`},
		{"a process", func(t *testing.T, s *Sandbox) (int, error) {
			hold(t, s.solution.pid)
			return s.solution.pid, s.solution.killAndReap(s.settle)
		}, `^kill process \d+: still alive 2s after SIGKILL, in state t, waiting in "[a-z0-9_]*", with process \d+ in state S; restart judged, and reboot if the process remains$`},
		{"process 1, for a zombie", func(t *testing.T, s *Sandbox) (int, error) {
			return 0, s.process1.killAndReap(s.settle)
		}, `^kill process \d+: still alive 2s after SIGKILL, in state S, waiting in "[a-z0-9_]*", with process \d+ in state Z; restart judged, and reboot if the process remains$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runtime.LockOSThread() // a tracer is a thread
			defer runtime.UnlockOSThread()
			l.run(t, usual) // from now on all files are cached
			traces := testkit.Watch(t, users)
			s, err := l.Prepare(l.slot)
			if err != nil {
				t.Fatal(err)
			}
			loads(t, s, Spec{Args: []string{"./family", "storm"}, Files: []File{program}, Limits: limits()}, "")
			s.settle = 2 * time.Second // enough to reach the state in the message on a busy CPU
			held, err := tt.end(t, s)
			if err == nil || !regexp.MustCompile(tt.says).MatchString(err.Error()) {
				t.Errorf("error %v, want %s", err, tt.says)
			}
			if held != 0 {
				if _, err := ptrace(syscall.PTRACE_DETACH, held, 0, 0); err != nil {
					t.Errorf("detach from process %d: %v", held, err)
				}
			}
			s.settle = settleTimeout
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			l.run(t, usual)
			traces.None(t)
		})
	}
}

// hold makes the kernel stop a process when it exits.
func hold(t *testing.T, pid int) {
	t.Helper()
	if _, err := ptrace(ptraceSeize, pid, 0, ptraceOExit); err != nil {
		t.Fatalf("hold process %d: %v", pid, err)
	}
}

// start starts a run.
func start(t *testing.T, s *Sandbox) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := s.Run(t.Context())
		done <- err
	}()
	return done
}

// stormOf waits for the process that will fork the storm, and returns its pid.
func stormOf(t *testing.T, s *Sandbox) (pid int) {
	t.Helper()
	testkit.WaitFor(t, time.Minute, "the process that becomes a storm", func() bool {
		paths, _ := filepath.Glob("/proc/[0-9]*/status") // the pattern is valid
		for _, path := range paths {
			status := statusOf(path)
			if status("Name") == "storm" && strings.HasPrefix(status("Uid"), strconv.Itoa(s.uid)+"\t") {
				pid, _ = strconv.Atoi(status("Pid")) // a number
			}
		}
		return pid != 0
	})
	return pid
}

// startStorm starts the storm.
func startStorm(t *testing.T, s *Sandbox) {
	t.Helper()
	empty, err := os.Open(script(t, "empty", "").Path)
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	if err := linux.MakeFile(s.box, initproc.Work+"/go", 0o644, s.uid, empty); err != nil {
		t.Fatal(err)
	}
}

// TestStormBesideTheGroup: a storm of processes that killing the control group does not reach, because they are
// in another one, like a process that a kill has just missed. They are still killed, with process 1 of the run.
func TestStormBesideTheGroup(t *testing.T) {
	users := ownUsers()
	l := newLab(t, func(o *Options) { o.UIDFirst, o.UIDCount = users.First, users.Count })
	program := family(t)
	// From now on all files are cached.
	l.run(t, Spec{Args: []string{"./family", "leave", "sleep"}, Files: []File{program}, Limits: limits()})
	traces := testkit.Watch(t, users)
	s, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		traces.None(t)
	}()
	loads(t, s, Spec{Args: []string{"./family", "storm"}, Files: []File{program}, Limits: limits()}, "")
	done := start(t, s)
	pid := stormOf(t, s)
	for _, dir := range parents("") {
		if err := os.WriteFile(dir+"/cgroup.procs", fmt.Append(nil, pid), 0); err != nil {
			t.Fatal(err)
		}
	}
	startStorm(t, s)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if over, err := linux.WaitReadable(patience, int(s.process1.fd.Fd())); err != nil || !over {
		t.Errorf("process 1 and the others in its namespace are alive after the run: %v, %v", over, err)
	}
}

// TestProcessNobodyCanTake checks that a child is killed if judged has no free descriptor for it.
func TestProcessNobodyCanTake(t *testing.T) {
	pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "600"},
		&syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		t.Fatal(err)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	p, err := newProcess(pid)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("pidfd_open %d: too many open files", pid)
	if p != nil || err == nil || err.Error() != want {
		t.Errorf("got %v and %v, want %q", p, err, want)
	}
	if _, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("the child still exists: %v", err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
	}
}
