package sandbox

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/hostfs"
	"judged/internal/host/machine"
	"judged/internal/sandbox/cgroup"
	"judged/internal/sandbox/seccomp"
	"judged/internal/testkit"
)

// lab is a launcher with one slot on the last CPU.
type lab struct {
	*Launcher
	slot Resources
	tree *cgroup.Tree
}

func newLab(t testing.TB, change func(*Options)) *lab {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	fs := hostfs.New("/")
	host, err := cgroup.Detect(fs)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := host.NewTree()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Remove(); err != nil {
			t.Error(err)
		}
	})
	top, err := machine.ReadTopology(fs)
	if err != nil {
		t.Fatal(err)
	}
	last := top.CPUs[len(top.CPUs)-1]
	cpus := cpuset.New(last.ID)
	group, err := tree.Subtree(cpus, cpuset.New(last.Node))
	if err != nil {
		t.Fatal(err)
	}
	arch, err := seccomp.NativeArch()
	if err != nil {
		t.Fatal(err)
	}
	filter, err := seccomp.Build(arch, seccomp.Default())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Root: RootPrivate, BoxBytes: 64 << 20, BoxInodes: 4096, UIDFirst: 200000, UIDCount: 1000,
		Seccomp: filter}
	if change != nil {
		change(&o)
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	slot := Resources{CPUs: cpus, Node: last.Node, BindNode: len(top.Nodes) > 1, NohzFull: top.NohzFull.Overlaps(cpus),
		Group: group, Copies: l.Copies()}
	slot.Trees = l.NewTrees(slot)
	t.Cleanup(func() {
		if err := slot.Trees.Close(); err != nil {
			t.Error(err)
		}
	})
	return &lab{l, slot, tree}
}

func limits() Limits {
	return Limits{CPUTime: 20 * time.Second, WallTime: time.Minute, Memory: 256 << 20, Output: 1 << 20, Stack: 64 << 20,
		Processes: 64}
}

// run performs the complete life of a sandbox.
func (l *lab) run(t testing.TB, spec Spec) (Result, string) {
	t.Helper()
	s, err := l.Prepare(l.slot)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Load(spec); err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Stdout().Reader()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(b)
}

func script(t testing.TB, name, text string) File {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return File{Name: name, Path: path, Exec: true}
}

// act returns the program of most tests.
func act(t testing.TB) string { return built(t, "act") }

// linkedAct returns the same program linked dynamically. A guest has no libraries.
func linkedAct(t testing.TB) string {
	if _, err := os.Stat("testdata/act"); err == nil {
		return "testdata/act"
	}
	return testkit.CompileC(t, "testdata/act.c", false)
}

// built returns a compiled program of testdata. In a guest, which has no compiler, the program is next to its
// source.
func built(t testing.TB, name string) string {
	if _, err := os.Stat("testdata/" + name); err == nil {
		return "testdata/" + name
	}
	return testkit.CompileC(t, "testdata/"+name+".c", true)
}

// facts are the members of a Result that a test can predict.
type facts struct {
	Stop      Stop
	Idle      bool
	Code      int
	Signal    syscall.Signal
	ExecError syscall.Errno
	OOM       bool
	Output    string
	Size      units.Bytes
}

func TestRun(t *testing.T) {
	l := newLab(t, nil)
	program := act(t)
	do := func(args ...string) Spec {
		return Spec{Args: append([]string{"./act"}, args...), Files: []File{{Name: "act", Path: program, Exec: true}},
			Limits: limits()}
	}
	limited := func(s Spec, change func(*Limits)) Spec { change(&s.Limits); return s }
	named := func(name, text string) Spec {
		return Spec{Args: []string{"./" + name}, Files: []File{script(t, name, text)}, Limits: limits()}
	}
	tests := []struct {
		name string
		spec Spec
		want facts
	}{
		{"exit 0 with output", do("print", "hello"), facts{Output: "hello\n", Size: 6}},
		{"exit 3", do("exit", "3"), facts{Code: 3}},
		{"kill self", do("kill", "9"), facts{Signal: syscall.SIGKILL}},
		{"abort is a signal, not process 1's immunity", do("abort"), facts{Signal: syscall.SIGABRT}},
		{"program of the sandbox's path", Spec{Args: []string{"echo", "a"}, Limits: limits()},
			facts{Output: "a\n", Size: 2}},
		{"interpreter", named("prog", "#!/bin/echo by\n"), facts{Output: "by ./prog\n", Size: 10}},
		{"no such program", Spec{Args: []string{"./none"}, Limits: limits()}, facts{ExecError: syscall.ENOENT}},
		{"no such interpreter", named("prog", "#!/bin/none\n"), facts{ExecError: syscall.ENOENT}},
		{"garbage", named("prog", "\x01\x02\x03"), facts{ExecError: syscall.ENOEXEC}},
		{"spin", limited(do("spin"), func(l *Limits) { l.CPUTime = 200 * time.Millisecond }),
			facts{Stop: StopCPU, Signal: syscall.SIGKILL}},
		{"sleep", limited(do("sleep"), func(l *Limits) { l.WallTime = 4 * time.Second }),
			facts{Stop: StopWall, Idle: true, Signal: syscall.SIGKILL}},
		{"work directory, identity, network and control groups", do("inspect"),
			facts{Output: "/box/work\na\nact\nuser\n", Size: 21}},
		{"output limit", do("flood"), facts{Signal: syscall.SIGXFSZ, Size: 1<<20 + 1}},
		{"a child that outlives its parent", do("orphan"), facts{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, out := l.run(t, tt.spec)
			got := facts{r.Stop, r.Idle, r.Code, r.Signal, r.ExecError, r.OOMKills > 0, out, r.OutputBytes}
			if tt.want.Size > 1000 {
				got.Output = ""
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
