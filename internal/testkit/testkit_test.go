package testkit

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	wait := settle
	if os.Getenv("JUDGED_TESTKIT_LEAK") != "" {
		wait /= 100 // a leak stays, however long the test waits
	}
	os.Exit(run(m, wait))
}

// recorder replaces a testing.TB and records how the test ends.
type recorder struct {
	testing.TB
	outcome, text string
}

type ended struct{}

func (r *recorder) Helper() {}
func (r *recorder) finish(outcome, format string, args []any) {
	r.outcome, r.text = outcome, fmt.Sprintf(format, args...)
	panic(ended{})
}
func (r *recorder) Skipf(format string, args ...any)  { r.finish("skip", format, args) }
func (r *recorder) Fatalf(format string, args ...any) { r.finish("fail", format, args) }

func outcomeOf(f func(t testing.TB)) (r recorder) {
	r.outcome = "pass"
	defer func() {
		if e := recover(); e != nil && e != (ended{}) {
			panic(e)
		}
	}()
	f(&r)
	return r
}

// short sets -short for one test.
func short(t *testing.T, is bool) {
	t.Helper()
	before := testing.Short()
	set := func(to bool) {
		if err := flag.Set("test.short", strconv.FormatBool(to)); err != nil {
			t.Fatal(err)
		}
	}
	set(is)
	t.Cleanup(func() { set(before) })
}

func TestNeedShort(t *testing.T) {
	short(t, true)
	got := []string{outcomeOf(func(t testing.TB) { Need(t, GCC) }).outcome,
		outcomeOf(func(t testing.TB) { Need(t) }).outcome}
	if diff := cmp.Diff([]string{"skip", "pass"}, got); diff != "" {
		t.Errorf("something and nothing needed (-want +got):\n%s", diff)
	}
}

func TestNeed(t *testing.T) {
	short(t, false)
	t.Setenv("JUDGED_TEST_KERNEL", filepath.Join(t.TempDir(), "absent"))
	for _, tc := range []struct {
		name, require, want string
	}{
		{"nothing required", "", "skip"},
		{"required by name", "root, guest-kernel", "fail"},
		{"another one required", "root,guest-kernels,qemu", "skip"},
		{"all required", "all", "fail"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(RequireEnv, tc.require)
			got := outcomeOf(func(t testing.TB) { Need(t, GuestKernel) })
			if got.outcome != tc.want {
				t.Errorf("got %s (%s), want %s", got.outcome, got.text, tc.want)
			}
			if !strings.Contains(got.text, "guest-kernel") || !strings.Contains(got.text, ".ci/setup") {
				t.Errorf("text %q does not name the need and the next step", got.text)
			}
		})
	}
}

func TestNeedPassesWhenThere(t *testing.T) {
	short(t, false)
	kernel := filepath.Join(t.TempDir(), "vmlinuz")
	if err := os.WriteFile(kernel, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JUDGED_TEST_KERNEL", kernel)
	t.Setenv(RequireEnv, "all")
	if got := outcomeOf(func(t testing.TB) { Need(t, GuestKernel) }); got.outcome != "pass" {
		t.Errorf("got %s (%s), want pass", got.outcome, got.text)
	}
}

func TestAllLeavesOutTheCgroupVersion(t *testing.T) {
	got := map[Requirement]bool{}
	want := map[Requirement]bool{Root: true, Cgroup: true, CgroupV1: false, CgroupV2: false, GCC: true}
	for n := range want {
		got[n] = required(n, "all")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("required by all (-want +got):\n%s", diff)
	}
	if !required(CgroupV2, "all,cgroup-v2") {
		t.Error("cgroup-v2 named in addition to all is not required")
	}
}

// leaks are the resources that the binary, run again by TestRunFindsLeftovers, leaks in TestLeak. undoLeak
// removes those that outlive it.
var leaks = map[string]func(t *testing.T){
	"nothing": func(t *testing.T) {},
	"file descriptor": func(t *testing.T) {
		if _, err := syscall.Dup(0); err != nil {
			t.Fatal(err)
		}
	},
	"child process": func(t *testing.T) {
		cmd := exec.Command("sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	},
	"cgroup": func(t *testing.T) {
		parent, _, err := memoryHierarchy()
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(parent, fmt.Sprintf("judged-%d-leak", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	},
	"mount": func(t *testing.T) {
		dir := filepath.Join(os.Getenv("JUDGED_TESTKIT_DIR"), "judged")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(fmt.Sprintf("judged-%d-leak", os.Getpid()), dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
	},
	"compiled program": func(t *testing.T) { CompileC(t, writeC(t), false) },
}

func TestLeak(t *testing.T) {
	if leak := leaks[os.Getenv("JUDGED_TESTKIT_LEAK")]; leak != nil {
		leak(t)
	}
}

func TestRunFindsLeftovers(t *testing.T) {
	for _, tc := range []struct {
		name  string
		exit  int
		needs []Requirement
	}{
		{name: "nothing"},
		{name: "compiled program", needs: []Requirement{GCC}},
		{name: "file descriptor", exit: LeftoverExit},
		{name: "child process", exit: LeftoverExit},
		{name: "cgroup", exit: LeftoverExit, needs: []Requirement{Cgroup}},
		{name: "mount", exit: LeftoverExit, needs: []Requirement{Root}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			Need(t, tc.needs...)
			dir := t.TempDir()
			var pid int
			t.Cleanup(func() { undoLeak(t, dir, pid) })
			cmd := exec.Command(os.Args[0], "-test.run=^TestLeak$")
			cmd.Env = append(os.Environ(), "JUDGED_TESTKIT_LEAK="+tc.name, "JUDGED_TESTKIT_DIR="+dir, "TMPDIR="+dir)
			out, err := cmd.CombinedOutput()
			if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			pid = cmd.Process.Pid
			if got := cmd.ProcessState.ExitCode(); got != tc.exit {
				t.Errorf("exit code %d, want %d; output:\n%s", got, tc.exit, out)
			}
			if named := strings.Contains(string(out), "\n\t"+tc.name); named != (tc.exit != 0) {
				t.Errorf("names %q: %t; output:\n%s", tc.name, named, out)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "judged-testkit-*")); len(left) > 0 {
				t.Errorf("programs were not removed: %q", left)
			}
		})
	}
}

func undoLeak(t *testing.T, dir string, pid int) {
	if err := syscall.Unmount(filepath.Join(dir, "judged"), 0); err != nil && !errors.Is(err, syscall.ENOENT) &&
		!errors.Is(err, syscall.EPERM) {
		t.Errorf("unmount: %v", err)
	}
	if parent, _, err := memoryHierarchy(); err == nil {
		err := os.Remove(filepath.Join(parent, fmt.Sprintf("judged-%d-leak", pid)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("remove cgroup: %v", err)
		}
	}
}

func writeC(t *testing.T) string {
	src := filepath.Join(t.TempDir(), "answer.c")
	if err := os.WriteFile(src, []byte("int main(void) { return 42; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return src
}

func TestCompileC(t *testing.T) {
	for _, static := range []bool{false, true} {
		t.Run(fmt.Sprintf("static=%t", static), func(t *testing.T) {
			path := CompileC(t, writeC(t), static)
			cmd := exec.Command(path)
			if err := cmd.Run(); cmd.ProcessState.ExitCode() != 42 {
				t.Errorf("program ended with %v, want exit status 42", err)
			}
			if again := CompileC(t, writeC(t), static); again != path {
				t.Errorf("second build of the same text went to %s, want the cached %s", again, path)
			}
			info, err := os.Stat(filepath.Dir(path))
			if err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("folder of programs: %v, %v; want it open to all users", info.Mode(), err)
			}
		})
	}
}

func TestCompileCShowsDiagnostics(t *testing.T) {
	Need(t, GCC)
	src := filepath.Join(t.TempDir(), "bad.c")
	if err := os.WriteFile(src, []byte("int main(void) { return nonsense; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := outcomeOf(func(t testing.TB) { CompileC(t, src, false) })
	if got.outcome != "fail" || !strings.Contains(got.text, "nonsense") {
		t.Errorf("got %s with %q, want a failure with gcc's words", got.outcome, got.text)
	}
}

func TestWaitFor(t *testing.T) {
	calls := 0
	WaitFor(t, time.Minute, "the third call", func() bool { calls++; return calls == 3 })
	if calls != 3 {
		t.Errorf("cond was called %d times, want 3", calls)
	}
	got := outcomeOf(func(t testing.TB) { WaitFor(t, 0, "the moon", func() bool { return false }) })
	if got.outcome != "fail" || !strings.Contains(got.text, "waiting for the moon") {
		t.Errorf("got %s with %q, want a failure that names the moon", got.outcome, got.text)
	}
}

func TestRepoRoot(t *testing.T) {
	if _, err := os.Stat(filepath.Join(RepoRoot(t), "internal", "testkit", "wait.go")); err != nil {
		t.Error(err)
	}
	t.Chdir(t.TempDir())
	if got := outcomeOf(func(t testing.TB) { RepoRoot(t) }); got.outcome != "fail" {
		t.Errorf("outside a repository: %s, want fail", got.outcome)
	}
}

func TestHost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "machine")
	text := `Built for this test.

-- sys/cpu{0-1,3}/id --
{}
-- sys/cpu1/id missing --
-- proc/closed unreadable --
-- sys/irq/5 directory --
-- tasks --
7 1 user 0-3 2 rt a name
7/8 1 user 0-3 1 thread
9 2 kernel 1 1 migration/1
`
	if err := os.WriteFile(file+".txtar", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tree, note, err := Host(file)
	if err != nil || note != "Built for this test." {
		t.Fatalf("note %q, %v", note, err)
	}
	got := map[string]string{}
	for name, f := range tree {
		got[name] = f.Mode.String() + " " + string(f.Data)
	}
	const read = "-r--r--r-- "
	want := map[string]string{
		"sys/cpu0/id": read + "0\n", "sys/cpu3/id": read + "3\n", "proc/closed": "---------- ",
		"sys/irq/5": "dr-xr-xr-x ",
		"proc/7/stat": read + "7 (a name) S 1 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 2 0 24 0 0 0 0 0 0 0 0 0 0 " +
			"0 0 0 0 0 17 2 0 1\n",
		"proc/7/status": read + "Cpus_allowed_list:\t0-3\n",
		"proc/7/task/8/stat": read + "7 (thread) S 1 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 2 0 24 0 0 0 0 0 0 0 0 0 0 " +
			"0 0 0 0 0 17 1 0 0\n",
		"proc/7/task/8/status": read + "Cpus_allowed_list:\t0-3\n",
		"proc/9/stat": read + "9 (migration/1) S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 20 0 1 0 24 0 0 0 0 0 0 0 " +
			"0 0 0 0 0 0 0 0 17 1 0 0\n",
		"proc/9/status": read + "Cpus_allowed_list:\t1\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{"heading": "x\n-- a\nb\n", "number": "x\n-- a{b} --\n",
		"task": "x\n-- tasks --\n1 2\n"} {
		if err := os.WriteFile(file+".txtar", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Host(file); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
