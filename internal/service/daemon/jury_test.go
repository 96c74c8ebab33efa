package daemon

import (
	"archive/tar"
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

func packageFolder(t *testing.T, name string) string {
	return filepath.Join(testkit.RepoRoot(t), "testdata/problems/packages", name)
}

// packageArchive returns a package as platforms send it.
func packageArchive(t *testing.T, name string) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := errors.Join(w.AddFS(os.DirFS(packageFolder(t, name))), w.Close()); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// pointsProblem checks that a package with groups, points and a checker in C++ can be stored, and that a job that names
// it gets the same score as with judged run --package.
func pointsProblem(t *testing.T, d *instance) {
	testkit.Need(t, testkit.GCC)
	if a := d.ask("PUT", "/v1/problems/largest", packageArchive(t, "largest")); a.status != http.StatusCreated {
		t.Fatalf("status %d %s", a.status, a.body)
	}
	program, err := os.ReadFile(filepath.Join(packageFolder(t, "largest"), "submissions/partial/last.sh"))
	if err != nil {
		t.Fatal(err)
	}
	d.submit("points", api.Job{Program: *text(string(program)), Problem: "largest"})
	got := d.finish("points")
	score := func(n float64) *float64 { return &n }
	want := []api.GroupReport{{Name: "sample", Verdict: api.Accepted, Score: score(0)},
		{Name: "secret", Verdict: api.Partial, Score: score(65), MaxScore: score(100)},
		{Name: "secret/1-pair", Verdict: api.Accepted, Score: score(30), MaxScore: score(30)},
		{Name: "secret/2-many", Verdict: api.Partial, Score: score(35), MaxScore: score(70)}}
	if diff := cmp.Diff(want, got.Groups); diff != "" || got.Verdict != api.Partial || got.Message != "" {
		t.Errorf("verdict %s %s, groups (-want +got):\n%s", got.Verdict, got.Message, diff)
	}
	if diff := cmp.Diff(score(65), got.Score); diff != "" {
		t.Errorf("score (-want +got):\n%s", diff)
	}
}

// namedFiles checks that a job that names a stored problem reads and writes the problem's files.
func namedFiles(t *testing.T, d *instance) {
	testkit.Need(t, testkit.Python)
	if a := d.ask("PUT", "/v1/problems/totals", packageArchive(t, "totals")); a.status != http.StatusCreated {
		t.Fatalf("status %d %s", a.status, a.body)
	}
	for id, tt := range map[string]struct {
		script string
		want   api.Verdict
	}{
		"files-right": {"read n; read a b c; echo $((a + b + c))", api.Accepted},
		"files-wrong": {"read n; read a b c; echo $((a + b))", api.WrongAnswer},
	} {
		d.submit(id, api.Job{Program: *text("#!/bin/sh\n(" + tt.script + ") < totals.in > totals.out"),
			Problem: "totals"})
		if r := d.finish(id); r.Verdict != tt.want {
			t.Errorf("%s: verdict %s, want %s: %+v", id, r.Verdict, tt.want, r.Tests)
		}
	}
}

// limitsOfTests checks that the same program can be within the limit of one test and over that of another, and that it
// has the job's environment.
func limitsOfTests(t *testing.T, d *instance) {
	testkit.Need(t, testkit.Python)
	d.submit("limits", api.Job{
		Program: *text("#!/usr/bin/python3\nimport os, time\nwhile time.process_time() < 0.5: pass\n" +
			"print(os.environ['A'])\n"),
		Env: map[string]string{"A": "b"}, Limits: api.Limits{CPUTimeMS: 200, WallTimeMS: 60_000}, Stop: api.StopNever,
		Tests: []api.Test{{Name: "1", Answer: text("b")},
			{Name: "2", Answer: text("b"), Limits: api.Limits{CPUTimeMS: 5000}}},
	})
	got := d.finish("limits")
	if len(got.Tests) != 2 {
		t.Fatalf("verdict %s of %d tests: %s", got.Verdict, len(got.Tests), got.Message)
	}
	for i, want := range []struct {
		verdict api.Verdict
		limits  api.Limits
	}{{api.TimeLimit, api.Limits{}}, {api.Accepted, api.Limits{CPUTimeMS: 5000, WallTimeMS: 11000, Memory: 256 << 20,
		Output: 64 << 20, Stack: 256 << 20, Processes: 64}}} {
		if x := got.Tests[i]; x.Verdict != want.verdict || x.Limits != want.limits {
			t.Errorf("test %s: %s with limits %+v, want %s with %+v", x.Name, x.Verdict, x.Limits, want.verdict,
				want.limits)
		}
	}
}

// interactors checks a program and an interactor that both come with the job.
func interactors(t *testing.T, d *instance) {
	script := func(body string) api.File { return *text("#!/bin/sh\n" + body) }
	asks := script(`echo 3 4; read n; echo "got $n" > $3/judgemessage.txt; [ "$n" = 7 ] && exit 42; exit 43`)
	for id, tt := range map[string]struct {
		program api.File
		want    api.CheckReport
	}{
		"talk-right": {script(`read a b; echo $((a + b))`), api.CheckReport{Verdict: api.Accepted, Message: "got 7",
			FirstExit: api.ExitProgram}},
		"talk-wrong": {script(`read a b; echo $a; read c; exec sleep 60`), api.CheckReport{Verdict: api.WrongAnswer,
			Message: "got 3", FirstExit: api.ExitInteractor}},
	} {
		d.submit(
			id,
			api.Job{
				Program:    tt.program,
				Tests:      []api.Test{{Name: "1"}},
				Interactor: &api.Interactor{Kind: "icpc", Program: asks},
				Limits:     api.Limits{CPUTimeMS: 1000, WallTimeMS: 20_000},
			},
		)
		r := d.finish(id)
		if r.Verdict != tt.want.Verdict || len(r.Tests) != 1 || r.Tests[0].Checker == nil {
			t.Fatalf("%s: verdict %s of %d tests, %s", id, r.Verdict, len(r.Tests), r.Message)
		}
		got := *r.Tests[0].Checker
		if got.Verdict == api.Accepted {
			got.FirstExit = api.ExitProgram // either may exit first
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", id, diff)
		}
	}
}

// juryPrograms checks that a job can bring programs as checkers, and that its report has their messages.
func juryPrograms(t *testing.T, d *instance) {
	const fails = "icpc checker: exited with status 1; the protocol defines 42 (accept) and 43 (reject); it says: why"
	script := func(body string) *api.File { return text("#!/bin/sh\n" + body) }
	half := 0.5
	for _, tt := range []struct {
		id      string
		checker api.Checker
		verdict api.Verdict
		message string
		want    api.CheckReport
		score   *float64
	}{
		{"jury-icpc", api.Checker{Kind: "icpc",
			Program: script(`read n; echo "got $n" > $3/judgemessage.txt; echo "$4" > $3/teammessage.txt; exit 43`), Args: []string{"no"}},
			api.WrongAnswer, "", api.CheckReport{Verdict: api.WrongAnswer, Message: "got 7", TeamMessage: "no"}, nil},
		{"jury-testlib", api.Checker{Kind: "testlib", Program: script(`read n < $2; read a < $3; echo "ok $n $a" >&2`)},
			api.Accepted, "", api.CheckReport{Verdict: api.Accepted, Message: "ok 7 8"}, nil},
		{"jury-cms", api.Checker{Kind: "cms", Program: script(`echo 0.5; echo half >&2`)},
			api.Partial, "", api.CheckReport{Verdict: api.Partial, Message: "half"}, &half},
		{"jury-fails", api.Checker{Kind: "icpc", Program: script(`echo why >&2; exit 1`)}, api.InternalError,
			`judge test "1": ` + fails, api.CheckReport{Verdict: api.InternalError, Stderr: "why", Message: fails}, nil},
	} {
		d.submit(
			tt.id,
			api.Job{Program: *script("echo 7"), Tests: []api.Test{{Name: "1", Answer: text("8")}}, Checker: &tt.checker},
		)
		r := d.finish(tt.id)
		if r.Verdict != tt.verdict || r.Message != tt.message || len(r.Tests) != 1 {
			t.Fatalf("%s: verdict %s of %d tests, %s", tt.id, r.Verdict, len(r.Tests), r.Message)
		}
		if isIE := tt.verdict == api.InternalError; isIE != (r.Fault == api.JuryFault) || r.Fault != r.Tests[0].Fault {
			t.Errorf("%s: fault %q, and of its test %q", tt.id, r.Fault, r.Tests[0].Fault)
		}
		if diff := cmp.Diff(&tt.want, r.Tests[0].Checker); diff != "" {
			t.Errorf("%s: checker (-want +got):\n%s", tt.id, diff)
		}
		if diff := cmp.Diff(tt.score, r.Score); diff != "" {
			t.Errorf("%s: score (-want +got):\n%s", tt.id, diff)
		}
	}
}

// multiPass checks that a multi-pass package can be stored, and that the report of a job that names it has the times of
// all passes. A job can also bring everything itself.
func multiPass(t *testing.T, d *instance) {
	testkit.Need(t, testkit.Python)
	if a := d.ask("PUT", "/v1/problems/relay", packageArchive(t, "relay")); a.status != http.StatusCreated {
		t.Fatalf("status %d %s", a.status, a.body)
	}
	relay := func(name string) api.File {
		source, err := os.ReadFile(filepath.Join(packageFolder(t, "relay"), name))
		if err != nil {
			t.Fatal(err)
		}
		return *text("#!/usr/bin/python3\n" + string(source))
	}
	checker := relay("output_validator/relay.py")
	inline := api.Job{Tests: []api.Test{{Name: "secret/1", Input: text("write 3\n"), Answer: text("3\n")}}, Passes: 2,
		Checker: &api.Checker{Kind: "icpc", Program: &checker}}
	for _, tt := range []struct {
		id, program string
		job         api.Job
		verdicts    []api.Verdict // of the passes of the first test
	}{
		{"relay-right", "submissions/accepted/binary.py", api.Job{Problem: "relay"},
			[]api.Verdict{api.Accepted, api.Accepted}},
		{"relay-wrong", "submissions/wrong_answer/off_by_one.py", api.Job{Problem: "relay"},
			[]api.Verdict{api.Accepted, api.WrongAnswer}},
		{"relay-crash", "submissions/run_time_error/crash.py", inline, []api.Verdict{api.Accepted, api.RuntimeError}},
	} {
		tt.job.Program = relay(tt.program)
		d.submit(tt.id, tt.job)
		r := d.finish(tt.id)
		var verdicts []api.Verdict
		for _, p := range r.Tests[0].Passes {
			verdicts = append(verdicts, p.Verdict)
			if p.CPUTime == nil || p.Timing == nil || len(p.Runs) == 0 {
				t.Errorf("%s: a pass without times: %+v", tt.id, p)
			}
		}
		if diff := cmp.Diff(tt.verdicts, verdicts); diff != "" || r.Verdict != verdicts[len(verdicts)-1] {
			t.Errorf("%s: verdict %s %s, of passes (-want +got):\n%s", tt.id, r.Verdict, r.Message, diff)
		}
	}
}
