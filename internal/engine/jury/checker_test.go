package jury_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine"
	"judged/internal/engine/jury"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
)

func TestMain(m *testing.M) {
	if initproc.IsInit() {
		initproc.Main()
	}
	os.Exit(testkit.Run(m))
}

// users returns the IDs for this test binary, which no other test uses.
func users() testkit.Users { return testkit.Users{First: 1<<22 + os.Getpid()%4096*1000, Count: 1000} }

func limits() sandbox.Limits {
	return sandbox.Limits{CPUTime: 10 * time.Second, WallTime: 30 * time.Second, Memory: 256 << 20, Output: 1 << 20,
		Stack: 256 << 20, Processes: 16}
}

// openRunner returns a runner with its engine.
func openRunner(t testing.TB, limits sandbox.Limits) *jury.Runner {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.StaticGCC)
	u := users()
	eng, err := engine.Open(engine.Options{ClaimFolder: t.TempDir(), Width: 1, Count: 1, Jury: limits,
		Root: sandbox.RootPrivate, BoxBytes: 4 << 20, BoxInodes: 64, UIDFirst: u.First, UIDCount: u.Count,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := eng.Jury(eng.Slots()[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func source(t testing.TB, name string) string {
	return filepath.Join(testkit.RepoRoot(t), "testdata/jury", name)
}

// checker returns the checker in testdata, which does what its arguments say.
func checker(t testing.TB, protocol api.Protocol, does ...string) jury.Checker {
	file := sandbox.File{Name: "checker", Path: testkit.CompileC(t, source(t, "checker.c"), true), Exec: true}
	return jury.Checker{Protocol: protocol,
		Program: jury.Program{Command: []string{"./checker"}, Files: []sandbox.File{file}, Args: does}}
}

func input(t testing.TB, r *jury.Runner, text string) *sandbox.Input {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := sandbox.NewInput(path, r.Resources())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

// output returns an open, readable file in place of a program's output.
func output(t testing.TB, text string) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(path, []byte(text), 0o444); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func caseOf(t testing.TB, r *jury.Runner) jury.Case {
	return jury.Case{Input: input(t, r, "the input\n"), Answer: input(t, r, "1 2 3\n"), Output: output(t, "1 2 \n3")}
}

func score(n float64) *float64 { return &n }

// TestCheck runs checkers that follow the protocol and checkers that violate it.
func TestCheck(t *testing.T) {
	l := limits()
	l.CPUTime, l.WallTime = time.Second, 3*time.Second
	r := openRunner(t, l)
	at := func(fault, stderr string) api.CheckReport {
		return api.CheckReport{Verdict: api.InternalError, Fault: api.JuryFault, Message: fault, Stderr: stderr}
	}
	exhausted := func(fault string) api.CheckReport {
		r := at(fault, "")
		r.Exhausted = true
		return r
	}
	for _, tt := range []struct {
		name     string
		protocol api.Protocol
		does     string
		want     api.CheckReport
	}{
		{"icpc compares", api.ICPC, "tokens", api.CheckReport{Verdict: api.Accepted}},
		{"icpc speaks", api.ICPC, "judge=line 3|team=look again|err=noise|exit=43",
			api.CheckReport{Verdict: api.WrongAnswer, Message: "line 3", TeamMessage: "look again"}},
		{"icpc scores", api.ICPC, "score=0.5|exit=42",
			api.CheckReport{Verdict: api.Partial, Score: score(0.5), Accepts: true}},
		{"icpc with an empty score", api.ICPC, "score=|exit=42",
			at(`icpc checker: read score.txt: "empty" is not a number >= 0`, "")},
		{"icpc scores a part", api.ICPC, "multiplier=0.5|exit=42",
			api.CheckReport{Verdict: api.Partial, Score: score(0.5), Ratio: true, Accepts: true}},
		{"icpc with an empty part", api.ICPC, "multiplier=|exit=42",
			at(`icpc checker: read score_multiplier.txt: "empty" is not a number >= 0`, "")},
		{"cms", api.CMS, "out=0.5|err=half|exit=0",
			api.CheckReport{Verdict: api.Partial, Message: "half", Score: score(0.5), Ratio: true}},
		{"testlib", api.Testlib, "err=wrong answer 1|exit=1",
			api.CheckReport{Verdict: api.WrongAnswer, Message: "wrong answer 1"}},
		{"sio, with a long message", api.SIO, "out=OK|out=" + strings.Repeat("x", 5000) + "|out=50|exit=0",
			api.CheckReport{Verdict: api.Partial, Message: strings.Repeat("x", 4096), Score: score(0.5), Ratio: true}},
		{"a message that is cut in a character", api.Testlib, "err=x" + strings.Repeat("é", 3000) + "|exit=1",
			api.CheckReport{Verdict: api.WrongAnswer, Message: "x" + strings.Repeat("é", 2047)}},

		{"exits with an unknown code", api.ICPC, "err=why|exit=7",
			at("icpc checker: exited with status 7; the protocol defines 42 (accept) and 43 (reject); it says: why", "why")},
		{"says why it cannot judge", api.ICPC, "err=noise|error=no such table|exit=1",
			at("icpc checker: exited with status 1; the protocol defines 42 (accept) and 43 (reject); it says: no such "+
				"table", "noise")},
		{"testlib fails", api.Testlib, "err=FAIL the answer is empty|exit=3",
			at("testlib checker: exited with status 3 (fail): the input, the answer or the checker is wrong; it says: FAIL "+
				"the answer is empty", "FAIL the answer is empty")},
		{"crashes", api.ICPC, "err=why|kill=11|exit=42", at("icpc checker: was killed by SIGSEGV; it says: why", "why")},
		{"computes for ever", api.ICPC, "spin|exit=42",
			exhausted("icpc checker: used 1s of CPU time, the value of limits.jury.cpu_time")},
		{"sleeps", api.ICPC, "err=why|sleep|exit=42",
			at("icpc checker: did not end within 3s, the value of limits.jury.wall_time; it says: why", "why")},
		{"takes all memory", api.ICPC, "eat|exit=42",
			exhausted("icpc checker: used more than 256MiB of memory, the value of limits.jury.memory")},
		{"floods its stdout", api.ICPC, "flood|exit=42",
			exhausted("icpc checker: wrote more than 1MiB, the value of limits.jury.output, to stdout and stderr or to " +
				"a file")},
		{"fills its feedback folder", api.ICPC, "fill|exit=42",
			exhausted("icpc checker: filled its feedback folder; raise sandbox.work_size or sandbox.work_inodes if it " +
				"must write as much")},
		{"makes many files", api.ICPC, "many|exit=42",
			exhausted("icpc checker: filled its feedback folder; raise sandbox.work_size or sandbox.work_inodes if it " +
				"must write as much")},
		{"makes a large file", api.ICPC, "large|exit=42",
			exhausted("icpc checker: wrote more than 1MiB, the value of limits.jury.output, to stdout and stderr or to " +
				"a file")},
		{"links its message to the answer", api.ICPC, "link=/box/answer|exit=43",
			api.CheckReport{Verdict: api.WrongAnswer}},
		{"links its message to a file of the host", api.ICPC, "link=/etc/hostname|exit=43",
			api.CheckReport{Verdict: api.WrongAnswer}},
		{"makes its message a pipe", api.ICPC, "pipe|exit=43", api.CheckReport{Verdict: api.WrongAnswer}},
		{"leaves a child behind", api.ICPC, "orphan|exit=42", api.CheckReport{Verdict: api.Accepted}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := r.Check(t.Context(), checker(t, tt.protocol, strings.Split(tt.does, "|")...), caseOf(t, r))
			if err != nil {
				t.Fatal(err)
			}
			got.Said = nil // see TestSaid
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSaid: the raw result of an ICPC checker is available for callers that pass it on.
func TestSaid(t *testing.T) {
	r := openRunner(t, limits())
	got, err := r.Check(t.Context(), checker(t, api.ICPC, "judge=wrong at 3", "out=1", "err=noise", "exit=43"), caseOf(t, r))
	if err != nil {
		t.Fatal(err)
	}
	want := &api.JurySaid{Message: "wrong at 3", Stdout: "1", Stderr: "noise"}
	if diff := cmp.Diff(want, got.Said); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestCheckerIsNamed: a message contains the name of the program.
func TestCheckerIsNamed(t *testing.T) {
	r := openRunner(t, limits())
	c := checker(t, api.ICPC, "exit=7")
	c.Program.Name = "output_validators/v"
	got, err := r.Check(t.Context(), c, caseOf(t, r))
	if err != nil {
		t.Fatal(err)
	}
	const want = `icpc checker "output_validators/v": exited with status 7; the protocol defines 42 (accept) and 43 (reject)`
	if diff := cmp.Diff(want, got.Message); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCheckerSees: a checker finds its files by name, cannot change them, and sees no other files.
func TestCheckerSees(t *testing.T) {
	r := openRunner(t, limits())
	for protocol, stdin := range map[api.Protocol]string{api.ICPC: "1 2 \n3\n", api.Testlib: "", api.CMS: ""} {
		c := checker(t, protocol, "cat=/box/input", "cat=/box/answer", "cat=/box/output", "err=", "err=stdin:", "cat=-",
			"look", "cat="+source(t, "checker.c"), "exit=99")
		got, err := r.Check(t.Context(), c, caseOf(t, r))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimPrefix(got.Stderr,
			"the input\n1 2 3\n1 2 \n3\nstdin:\n"+strings.TrimSuffix(stdin, "\n")), "\n")
		slices.Sort(lines)
		want := []string{"/box/answer", "/box/feedback", "/box/input", "/box/output", "/box/shm", "/box/tmp",
			"/box/work", "/box/work/checker", "no " + source(t, "checker.c")}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", protocol, diff)
		}
	}
}

// TestCheckIsCancelled: a canceled context yields an error, not a verdict.
func TestCheckIsCancelled(t *testing.T) {
	r := openRunner(t, limits())
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, os.ErrDeadlineExceeded)
	defer cancel()
	got, err := r.Check(ctx, checker(t, api.ICPC, "sleep"), caseOf(t, r))
	if err == nil {
		t.Fatalf("got %+v", got)
	}
	if diff := cmp.Diff(os.ErrDeadlineExceeded.Error(), err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
