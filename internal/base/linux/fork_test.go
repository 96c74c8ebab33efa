package linux

import (
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestForkSteps forks children that report their state, and children with failing steps.
func TestForkSteps(t *testing.T) {
	badClose := Step{Name: "close", Call: unix.SYS_CLOSE, Args: [6]uintptr{1 << 20}}
	ignored := badClose
	ignored.Ignore = syscall.EBADF
	ends := Step{Name: "exit_group", Call: unix.SYS_EXIT_GROUP, Args: [6]uintptr{7}}
	unwanted := Step{Name: "getuid", Call: unix.SYS_GETUID, Want: 4711, Exact: true}
	failure := func(e StepError) string { return string(bytesOf(&e)) }
	for name, c := range map[string]struct {
		steps  func(w int) []Step
		said   string
		status int
	}{
		"writes": {func(w int) []Step { return []Step{WriteStep("write", w, []byte("hello")), ends} }, "hello", 7},
		"fails": {func(int) []Step { return []Step{UmaskStep(0), badClose, ends} },
			failure(StepError{1, int32(syscall.EBADF)}), 125},
		"ignores":  {func(w int) []Step { return []Step{ignored, WriteStep("write", w, []byte("on")), ends} }, "on", 7},
		"unwanted": {func(int) []Step { return []Step{unwanted, ends} }, failure(StepError{0, 0}), 125},
		"no end":   {func(int) []Step { return nil }, "", 125},
		"program": {func(w int) []Step {
			exec, err := ExecStep("/bin/sh", []string{"sh", "-c", `echo "$0 $A"; exit 3`, "zero"}, []string{"A=b c"})
			if err != nil {
				t.Fatal(err)
			}
			return []Step{DupStep(w, 1), AllSignalsStep(), exec}
		}, "zero b c\n", 3},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, err := Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			pid, err := ForkSteps(&ForkedChild{Cgroup: -1, Report: int(w.Fd()), Steps: c.steps(int(w.Fd()))})
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			status, _, err := Reap(pid)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.said, string(said)); diff != "" || status.ExitStatus() != c.status {
				t.Errorf("status %#x, want exit %d (-want +said):\n%s", status, c.status, diff)
			}
		})
	}
}

// TestSignalOfChild: a signal to a child has its default action and does not run the runtime's handlers.
func TestSignalOfChild(t *testing.T) {
	never, held, err := Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer never.Close()
	defer held.Close()
	const microseconds = 1000
	timer := Step{Name: "setitimer", Call: unix.SYS_SETITIMER,
		Pointers: [6]pointer{1: toBytes(&[4]int64{3: microseconds})}}
	pid, err := ForkSteps(&ForkedChild{Cgroup: -1, Report: int(held.Fd()),
		Steps: []Step{timer, AllSignalsStep(), ReadByteStep("never", int(never.Fd()))}})
	if err != nil {
		t.Fatal(err)
	}
	status, _, err := Reap(pid)
	if err != nil || !status.Signaled() || status.Signal() != syscall.SIGALRM {
		t.Errorf("status %#x, %v; want it ended by SIGALRM", status, err)
	}
}

func TestExecStepRefusesNUL(t *testing.T) {
	for _, argv := range [][]string{{"a\x00b"}, {"", "\x00"}} {
		if _, err := ExecStep("/bin/sh", argv, nil); err == nil {
			t.Errorf("%q: no error", argv)
		}
	}
}

func TestWritable(t *testing.T) {
	type area struct {
		Begin, End uintptr
		OK         bool
	}
	for line, want := range map[string]area{
		"c000000000-c000400000 rw-p 00000000 00:00 0 \n":           {0xc000000000, 0xc000400000, true},
		"7ffc-7ffd rw-p 00000000 00:00 0                [stack]\n": {0x7ffc, 0x7ffd, true},
		"00400000-0047f000 r-xp 00000000 fe:00 12 /bin/x\n":        {0x400000, 0x47f000, false},
		"": {}, "x-y rw-p": {}, "12 rw-p": {Begin: 0x12},
	} {
		begin, end, ok := writable(line)
		if diff := cmp.Diff(want, area{begin, end, ok}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

// TestKeepMemoryFromChildren: a child without its parent's memory can still execute its steps.
func TestKeepMemoryFromChildren(t *testing.T) {
	if os.Getenv("SLIM") == "" {
		p, err := os.StartProcess("/proc/self/exe", []string{"slim", "-test.run", "^TestKeepMemoryFromChildren$"},
			&os.ProcAttr{Env: append(os.Environ(), "SLIM=1"), Files: []*os.File{nil, os.Stdout, os.Stderr}})
		if err != nil {
			t.Fatal(err)
		}
		state, err := p.Wait()
		if err != nil || !state.Success() {
			t.Errorf("the child: %v, %v", state, err)
		}
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if err := ExcludeMemoryFromChildren(maps); err != nil {
		t.Fatal(err)
	}
	TestForkSteps(t)
}
