package judgehost

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
	"judged/internal/testkit/domserver"
)

// TestResults: the verdicts of the engine become results, and a judging ends where the server has its result.
func TestResults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		change     func(*world, *domserver.Problem)
		result     string
		results    []string
	}{
		{"correct", "", nil, "correct", []string{"correct", "correct", "correct"}},
		{"wrong", "2 WA", nil, "wrong-answer", []string{"correct", "wrong-answer", ""}},
		{"presentation", "1 PE", nil, "wrong-answer", []string{"wrong-answer", "", ""}},
		{"no output", "1 WA empty", nil, "no-output", []string{"no-output", "", ""}},
		{"time", "2 TLE", nil, "timelimit", []string{"correct", "timelimit", ""}},
		{"wall time", "2 WTL", nil, "timelimit", []string{"correct", "timelimit", ""}},
		{"idle", "2 ILE", nil, "timelimit", []string{"correct", "timelimit", ""}},
		{"slept, but not for too long", "2 SLEEP", nil, "correct", []string{"correct", "correct", "correct"}},
		{"memory", "3 MLE", nil, "run-error", []string{"correct", "correct", "run-error"}},
		{"exit status", "3 RTE", nil, "run-error", []string{"correct", "correct", "run-error"}},
		{"forbidden call", "1 SV", nil, "run-error", []string{"run-error", "", ""}},
		{"not executable", "1 BAD", nil, "run-error", []string{"run-error", "", ""}},
		{"output", "1 OLE", nil, "output-limit", []string{"output-limit", "", ""}},
		{"all tests", "1 WA\n3 TLE", func(w *world, _ *domserver.Problem) { w.Lazy = false }, "wrong-answer",
			[]string{"wrong-answer", "correct", "timelimit"}},
		{"judge completely", "1 WA\n2 RTE", func(_ *world, p *domserver.Problem) { p.JudgeCompletely = true },
			"wrong-answer", []string{"wrong-answer", "run-error", "correct"}},
		{"scores", "1 PC\n2 ZERO", func(_ *world, p *domserver.Problem) { p.Scoring = true }, "correct",
			[]string{"correct", "correct", "correct"}},
		{"scores of no scoring problem", "1 PC\n2 ZERO", nil, "correct", []string{"correct", "correct", "correct"}},
		{"batches of one", "", func(w *world, _ *domserver.Problem) { w.Batch = 1 }, "correct",
			[]string{"correct", "correct", "correct"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			p := w.problem("1", "2", "3")
			if tt.change != nil {
				tt.change(w, &p)
			}
			id := w.submit(p, tt.text)
			stop := w.start(newFakeEngine(1))
			w.await(id)
			testkit.WaitFor(t, patience, "all results", func() bool {
				return cmp.Equal(tt.results, results(w.Judging(id)))
			})
			stop()
			j := w.Judging(id)
			if j.Result != tt.result {
				t.Errorf("result %q, want %q", j.Result, tt.result)
			}
			if diff := cmp.Diff(tt.results, results(j)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if len(w.Unfinished()) > 0 || len(w.Errors()) > 0 {
				t.Errorf("unfinished %v, errors %v", w.Unfinished(), w.Errors())
			}
			w.clean()
		})
	}
}

// TestOrder: a result that ends a judging is sent after the earlier ones, because the server needs those to decide.
func TestOrder(t *testing.T) {
	w := newWorld(t)
	p := w.problem("1", "2", "3")
	id := w.submit(p, "2 WA")
	first := fmt.Sprintf("/%d", w.Judging(id).Tasks[0].ID)
	w.Fault = func(_, path string) *domserver.Fault {
		if strings.HasPrefix(path, "judgehosts/add-judging-run") && strings.HasSuffix(path, first) {
			return &domserver.Fault{Wait: 50 * time.Millisecond}
		}
		return nil
	}
	stop := w.start(newFakeEngine(1))
	w.await(id)
	stop()
	if diff := cmp.Diff([]string{"correct", "wrong-answer", ""}, results(w.Judging(id))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	w.clean()
}

// TestFields: a result has all that the server shows.
func TestFields(t *testing.T) {
	w := newWorld(t)
	w.EnableHosts = true
	p := w.problem("1", "2")
	p.Scoring, p.Passes = true, 2
	id := w.submit(p, "1 PC")
	w.start(newFakeEngine(1))
	j := w.await(id)
	got := j.Tasks[0].Results[0].Values
	for _, name := range []string{"start_time", "end_time", "output_system", "metadata"} {
		if got[name] == "" {
			t.Errorf("no %s", name)
		}
		delete(got, name)
	}
	want := map[string]string{"runresult": "correct", "runtime": "0.012", "hostname": "host-0", "output_run": "out\xff\n",
		"output_error": "", "output_diff": "judge message", "team_message": "hint", "score": "2.5", "pass": "1",
		"compare_metadata": "exitcode: 42\n",
		"testcasedir":      fmt.Sprintf("%d/testcase%05d", j.ID, j.Submission.Problem.Tests[0].ID)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	compiled := []domserver.Compiled{{Host: "host-0", EntryPoint: "Main", Output: "warning: x\n", Success: true}}
	if !strings.HasSuffix(j.Compiled[0].Metadata, "\nentry_point: Main\n") {
		t.Errorf("metadata of the compilation %q", j.Compiled[0].Metadata)
	}
	j.Compiled[0].Metadata = ""
	if diff := cmp.Diff(compiled, j.Compiled); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	w.clean()
}

// TestTimes: the reported time of a run is its CPU time, as with DOMjudge's own judgehosts. The explanation has the
// text by which the server recognizes a killed program.
func TestTimes(t *testing.T) {
	cpu, wall, code := 12*time.Millisecond, 3*time.Second, 0
	ended, killed := &api.Exit{Code: &code}, &api.Exit{Signal: "SIGKILL"}
	for _, tt := range []struct {
		name    string
		verdict api.Verdict
		exit    *api.Exit
		want    string // result, exit status, signal, limit, and why the program was killed
	}{
		{"accepted", api.Accepted, ended, "correct exitcode 0 time-used cpu-time"},
		{"too slow", api.TimeLimit, ended, "timelimit exitcode 0 time-used cpu-time time-result soft-timelimit"},
		{"stopped", api.TimeLimit, killed, "timelimit exitcode 137 time-used cpu-time time-result hard-timelimit cpu"},
		{"stopped by the clock", api.WallTimeLimit, killed,
			"timelimit exitcode 137 signal 14 time-used cpu-time time-result hard-timelimit wall"},
		{"slept", api.IdlenessLimit, killed,
			"timelimit exitcode 137 signal 14 time-used cpu-time time-result hard-timelimit wall"},
		{"crash", api.RuntimeError, &api.Exit{Signal: "SIGSEGV"}, "run-error exitcode 139 time-used cpu-time"},
	} {
		r := newRun(task{}, api.TestReport{Verdict: tt.verdict, CPUTime: &cpu, WallTime: &wall, Exit: tt.exit})
		got := r.result
		for line := range strings.Lines(r.metadata()) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if strings.Contains(" exitcode signal time-used time-result ", " "+key+" ") && value != "" {
				got += " " + key + " " + value
			}
		}
		terminated := regexp.MustCompile(`timelimit exceeded.*hard (wall|cpu) time`) // pattern of the server
		if m := terminated.FindStringSubmatch(r.explanation()); m != nil {
			got += " " + m[1]
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if s := r.form("h", func(b []byte) []byte { return b }).Get("runtime"); s != "0.012" {
			t.Errorf("%s: runtime %s", tt.name, s)
		}
	}
}

// TestCompareMetadata: only a checker that has decided has an exit status.
func TestCompareMetadata(t *testing.T) {
	score := 0.0
	for _, tt := range []struct {
		said *api.CheckReport
		want string
	}{
		{nil, ""},
		{&api.CheckReport{}, ""},
		{&api.CheckReport{Verdict: api.InternalError}, ""},
		{&api.CheckReport{Verdict: api.Accepted}, "exitcode: 42\n"},
		{&api.CheckReport{Verdict: api.Partial, Score: &score}, "exitcode: 42\n"},
		{&api.CheckReport{Verdict: api.WrongAnswer, Score: &score}, "exitcode: 42\n"},
		{&api.CheckReport{Verdict: api.WrongAnswer}, "exitcode: 43\n"},
		{&api.CheckReport{Verdict: api.PresentationError}, "exitcode: 43\n"},
		{&api.CheckReport{Verdict: api.OutputLimit}, "exitcode: 43\n"},
	} {
		if got := newRun(task{}, api.TestReport{Checker: tt.said}).compareMetadata(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.said, got, tt.want)
		}
	}
}

// TestQuietPyPy: PyPy, which DOMjudge uses for Python, warns on stderr without /proc/cpuinfo unless a variable is set.
func TestQuietPyPy(t *testing.T) {
	w := newWorld(t)
	id := w.Submit(domserver.Submission{Language: w.language, Problem: w.problem("1"), EntryPoint: "Main",
		Files: []domserver.File{{Name: "main.txt", Content: "text"}}})
	e := newFakeEngine(1)
	stop := w.start(e)
	w.await(id)
	stop()
	const quiet = "PYPY_GC_NURSERY=4MB"
	want, got := [][]string{{quiet, "ENTRY_POINT=Main"}, {quiet}}, [][]string{e.env, e.jobs[0].Env}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	w.clean()
}

// TestPass: a result belongs to one pass and says which one.
func TestPass(t *testing.T) {
	x := task{}
	x.run.Passes = 3
	r := newRun(x, api.TestReport{Verdict: api.Accepted, Pass: 1, Passes: make([]api.PassReport, 2)})
	if p := r.form("h", func(b []byte) []byte { return b }).Get("pass"); p != "1" {
		t.Errorf("pass %s", p)
	}
}

// TestLongOutput: output that is longer than the server stores is truncated and has a note; domserver checks it.
func TestLongOutput(t *testing.T) {
	w := newWorld(t)
	w.Settings["output_storage_limit"] = 3
	id := w.submit(w.problem("1"), "")
	w.start(newFakeEngine(1))
	j := w.await(id)
	got := map[string]string{"compile": j.Compiled[0].Output}
	for _, name := range []string{"output_run", "output_error", "output_diff", "team_message"} {
		got[name] = j.Tasks[0].Results[0].Values[name]
	}
	const note = "\n[output storage truncated after 3 B]\n"
	want := map[string]string{"compile": "war" + note, "output_run": "out" + note, "output_error": "",
		"output_diff": "jud" + note, "team_message": "hin" + note}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	w.clean()
}

// TestCompilation: a submission is compiled once for all slots and batches, and a compilation error is reported.
func TestCompilation(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*domserver.Submission)
		result string
		output string // part of it
		kind   string // of the internal error
	}{
		{"compiles", nil, "correct", "warning: x", ""},
		{"fails", func(x *domserver.Submission) { x.Files[0].Content = "compile error" }, "compiler-error",
			"Compiling failed with exitcode 1, compiler output:\nsaid by /box/compile-script/run\n", ""},
		{"makes nothing", func(x *domserver.Submission) { x.Files[0].Content = "make nothing" }, "compiler-error",
			"Compiling failed: no executable was created; compiler output:\nInfo: detected", ""},
		{"the script fails", func(x *domserver.Submission) { x.Files[0].Content = "script error" }, "internal-error", "",
			"compile_script"},
		{"nothing to compile", func(x *domserver.Submission) { x.Language.Filter, x.Files[0].Name = true, "main.h" },
			"compiler-error", "No files with allowed extensions found to pass to compiler. Allowed extensions: txt", ""},
		{"a header", func(x *domserver.Submission) {
			x.Language.Filter = true
			x.Files = append(x.Files, domserver.File{Name: "main.h", Content: "x"})
		}, "correct", "warning: x", ""},
		{"too large", func(x *domserver.Submission) { x.Files[0].Content = strings.Repeat("x", 1<<20) }, "compiler-error",
			"a working directory holds at most 1MiB", ""},
		{"a bad name", func(x *domserver.Submission) { x.Files[0].Name = "../main.txt" }, "", "", "judgehost"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			x := domserver.Submission{Language: w.language, Problem: w.problem("1", "2", "3"),
				Files: []domserver.File{{Name: "main.txt", Content: "text"}}}
			if tt.change != nil {
				tt.change(&x)
			}
			w.Batch = 1
			id := w.Submit(x)
			e := newFakeEngine(2)
			w.start(e)
			if tt.result != "" {
				w.await(id)
			}
			if tt.kind != "" {
				testkit.WaitFor(t, patience, "an internal error", func() bool { return len(w.Errors()) > 0 })
				if got := w.Errors()[0].Kind; got != tt.kind {
					t.Errorf("disabled %s, want %s", got, tt.kind)
				}
			}
			j := w.Judging(id)
			if j.Result != tt.result || len(j.Compiled) > 0 && !strings.Contains(j.Compiled[0].Output, tt.output) {
				t.Errorf("result %q, compiled %+v", j.Result, j.Compiled)
			}
			if hosts := len(w.Hosts()); len(j.Compiled) > hosts {
				t.Errorf("%d reports of the compilation from %d hosts", len(j.Compiled), hosts)
			}
			// A script that fails has no result for other slots, and two may ask at once.
			if e.compiled > 1 && tt.kind == "" {
				t.Errorf("compiled %d times", e.compiled)
			}
			w.clean()
		})
	}
}

// TestInternalErrors: an error disables the faulty object once, and nothing else.
func TestInternalErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		change     func(*world, *domserver.Problem)
		kind       string
		id         func(w *world, p domserver.Problem) string
		result     string
	}{
		{"checker", "2 IE jury", nil, "compare_script",
			func(w *world, p domserver.Problem) string { return fmt.Sprint(p.Compare.ID) }, "internal-error"},
		{"interactor", "2 IE jury", func(_ *world, p *domserver.Problem) { p.Combined = true }, "run_script",
			func(w *world, p domserver.Problem) string { return fmt.Sprint(p.Run.ID) }, "internal-error"},
		{"another run script", "", func(w *world, p *domserver.Problem) {
			p.Run = w.AddExecutable(domserver.File{Name: "run", Content: "#!/bin/sh\nexec timeout 5 \"$@\"\n", Exec: true})
		}, "run_script", func(w *world, p domserver.Problem) string { return fmt.Sprint(p.Run.ID) }, "internal-error"},
		{"compare script does not build", "", func(w *world, p *domserver.Problem) {
			p.Compare = w.AddExecutable(domserver.File{Name: "build", Content: "fail build", Exec: true})
		}, "compare_script", func(w *world, p domserver.Problem) string { return fmt.Sprint(p.Compare.ID) },
			"internal-error"},
		{"no program", "", func(w *world, p *domserver.Problem) {
			p.Compare = w.AddExecutable(domserver.File{Name: "README", Content: "x"})
		}, "compare_script", func(w *world, p domserver.Problem) string { return fmt.Sprint(p.Compare.ID) },
			"internal-error"},
		{"wrong hash of a script", "", func(_ *world, p *domserver.Problem) { p.WrongCompareHash = true }, "compare_script",
			func(w *world, p domserver.Problem) string { return fmt.Sprint(p.Compare.ID) }, "internal-error"},
		{"wrong hash of a test case", "", func(_ *world, p *domserver.Problem) {
			p.Tests[1].Hash = strings.Repeat("0", 32) + "_" + strings.Repeat("0", 32)
		}, "testcase", func(w *world, p domserver.Problem) string { return fmt.Sprint(p.Tests[1].ID) }, "internal-error"},
		{"missing test case", "", func(_ *world, p *domserver.Problem) { p.Tests[1].ID = 999999 }, "testcase",
			func(w *world, p domserver.Problem) string { return "999999" }, "internal-error"},
		{"the host", "2 IE host", nil, "judgehost", func(*world, domserver.Problem) string { return "host-0" }, ""},
		{"noise", "2 NOISE", nil, "judgehost", func(*world, domserver.Problem) string { return "host-0" }, ""},
		{"the sandbox", "2 BROKEN", nil, "judgehost", func(*world, domserver.Problem) string { return "host-0" }, ""},
		{"cancelled", "2 CX", nil, "judgehost", func(*world, domserver.Problem) string { return "host-0" }, ""},
		{"not run", "2 SK", nil, "judgehost", func(*world, domserver.Problem) string { return "host-0" }, ""},
		{"a verdict without a result", "2 XX", nil, "judgehost", func(*world, domserver.Problem) string { return "host-0" },
			""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			p := w.problem("1", "2", "3")
			if tt.change != nil {
				tt.change(w, &p)
			}
			id := w.submit(p, tt.text)
			e := newFakeEngine(1)
			stop := w.start(e)
			testkit.WaitFor(t, patience, "an internal error", func() bool { return len(w.Errors()) > 0 })
			stop()
			got := w.Errors()
			want := []domserver.InternalError{{Kind: tt.kind, ID: tt.id(w, p), Host: "host-0"}}
			for i := range got {
				t.Logf("%+v", got[i])
				got[i].Description, got[i].Log, got[i].Task = "", "", 0
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if j := w.Judging(id); j.Result != tt.result || len(w.Unfinished()) > 0 {
				t.Errorf("result %q, results %q, unfinished %v", j.Result, results(j), w.Unfinished())
			}
			for _, c := range w.Complaints() {
				if !strings.Contains(c, "no files of") {
					t.Error(c)
				}
			}
		})
	}
}

// TestNoiseIsJudgedAgain: a test whose result noise can explain is returned, and is decided the next time.
func TestNoiseIsJudgedAgain(t *testing.T) {
	w := newWorld(t)
	id := w.submit(w.problem("1", "2", "3"), "2 NOISE")
	e := newFakeEngine(1)
	n := 0
	e.before = func(_ context.Context, input string) {
		if input == "2" {
			n++
		}
	}
	quiet := &quietLater{fakeEngine: e, after: 3}
	stop := w.start(quiet)
	w.await(id)
	stop()
	j := w.Judging(id)
	if diff := cmp.Diff([]string{"correct", "correct", "correct"}, results(j)); diff != "" || j.Tasks[1].Given != 3 {
		t.Errorf("given %d times, -want +got\n%s", j.Tasks[1].Given, diff)
	}
	if len(w.Errors()) > 0 {
		t.Error(w.Errors())
	}
	w.clean()
}
