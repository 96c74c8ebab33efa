package judge

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/engine/measure"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
)

// TestRunTests checks the order of the tests, the stop rule, and the report of a test that fails because of judged
// itself. It does not use a sandbox.
func TestRunTests(t *testing.T) {
	damage := errors.New("disk on fire")
	noise := &measure.NoiseError{Test: "2"}
	type step struct {
		Name    string
		Verdict api.Verdict
	}
	type result struct {
		Ran, Decided []string
		Tests        []step
		Verdict      api.Verdict
		Err          error
	}
	for _, tt := range []struct {
		name     string
		stop     api.Stop
		tests    []string
		verdicts map[string]api.Verdict // verdicts of tests; AC if absent
		errs     map[string]error
		want     result
	}{
		{"no tests", "", nil, nil, nil, result{Verdict: api.InternalError}},
		{"natural order", "", []string{"10", "2", "1"}, nil, nil, result{
			[]string{"1", "2", "10"}, []string{"1", "2", "10"}, []step{{"1", "AC"}, {"2", "AC"}, {"10", "AC"}},
			api.Accepted, nil}},
		{"the first failure skips the rest", "", []string{"1", "2", "3", "4"},
			map[string]api.Verdict{"2": api.WrongAnswer, "3": api.RuntimeError}, nil, result{
				[]string{"1", "2"}, []string{"1", "2"}, []step{{"1", "AC"}, {"2", "WA"}, {"3", "SK"}, {"4", "SK"}},
				api.WrongAnswer, nil}},
		{"first-failure by name", api.StopFirstFailure, []string{"1", "2"}, map[string]api.Verdict{"1": api.TimeLimit},
			nil, result{
				[]string{"1"}, []string{"1"}, []step{{"1", "TLE"}, {"2", "SK"}}, api.TimeLimit, nil}},
		{"never stop", api.StopNever, []string{"1", "2", "3"},
			map[string]api.Verdict{"1": api.TimeLimit, "3": api.WrongAnswer}, nil, result{
				[]string{"1", "2", "3"}, []string{"1", "2", "3"}, []step{{"1", "TLE"}, {"2", "AC"}, {"3", "WA"}},
				api.TimeLimit, nil}},
		{"a partial score does not stop", "", []string{"1", "2"}, map[string]api.Verdict{"1": api.Partial}, nil, result{
			[]string{"1", "2"}, []string{"1", "2"}, []step{{"1", "PC"}, {"2", "AC"}}, api.Partial, nil}},
		{"an error drops the test", "", []string{"1", "2", "3"}, nil, map[string]error{"2": damage}, result{
			[]string{"1", "2"}, []string{"1"}, []step{{"1", "AC"}}, "", damage}},
		{"cancelled before the first test", "", []string{"1", "2"}, nil, map[string]error{"1": context.Canceled}, result{
			[]string{"1"}, nil, nil, "", context.Canceled}},
		{"cancelled in the last test", "", []string{"1", "2"}, nil, map[string]error{"2": context.Canceled}, result{
			[]string{"1", "2"}, []string{"1"}, []step{{"1", "AC"}}, "", context.Canceled}},
		{"a test that was not run", "", []string{"1", "2"}, map[string]api.Verdict{"1": api.Skipped}, nil, result{
			[]string{"1", "2"}, []string{"1", "2"}, []step{{"1", "SK"}, {"2", "AC"}}, api.InternalError, nil}},
		{"a test without a verdict", "", []string{"1", "2"}, map[string]api.Verdict{"2": ""}, nil, result{
			[]string{"1", "2"}, []string{"1", "2"}, []step{{"1", "AC"}, {"2", ""}}, api.InternalError, nil}},
		{"noise keeps what is known of the test", api.StopNever, []string{"1", "2", "3"},
			map[string]api.Verdict{"2": api.InternalError}, map[string]error{"2": noise}, result{
				[]string{"1", "2"}, []string{"1"}, []step{{"1", "AC"}, {"2", "IE"}}, "", noise}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got result
			task := Task{Stop: tt.stop}
			for _, name := range tt.tests {
				task.Tests = append(task.Tests, problem.Test{Name: name})
			}
			r, err := task.runTests(t.Context(), func(_ context.Context, test problem.Test) <-chan measure.Result {
				got.Ran = append(got.Ran, test.Name)
				verdict, ok := tt.verdicts[test.Name]
				if !ok {
					verdict = api.Accepted
				}
				result := make(chan measure.Result, 1)
				result <- measure.Result{Report: api.TestReport{Name: test.Name, Verdict: verdict, Agree: true},
					Err: tt.errs[test.Name]}
				return result
			}, func(r api.TestReport) { got.Decided = append(got.Decided, r.Name) })
			for _, r := range r.Tests {
				got.Tests = append(got.Tests, step{r.Name, r.Verdict})
			}
			got.Verdict = r.Verdict
			if errors.Is(err, tt.want.Err) {
				got.Err = tt.want.Err
			} else {
				got.Err = err
			}
			if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b error) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !*r.Deterministic {
				t.Error("not deterministic although all tests, also those that were skipped, agree")
			}
		})
	}
}

// TestRunTestsOfScheme: the order is that of the scheme, the stop rule applies per group, and the report has the
// groups.
func TestRunTestsOfScheme(t *testing.T) {
	most := 10.0
	test := func(name string) api.Member {
		return api.Member{Test: name, Accept: most, MaxScore: &most}
	}
	group := func(name string, tests ...api.Member) api.Member {
		return api.Member{Group: &api.Group{Name: name, Aggregation: api.Min, MaxScore: &most, Members: tests}}
	}
	root := &api.Group{Aggregation: api.Sum, Verdict: api.ByScore, Continue: true,
		Members: []api.Member{group("1", test("1/10"), test("1/2"), test("1/9")), group("2", test("2/1"))}}
	task := Task{Scheme: &api.Scheme{Root: root, Scoring: true}}
	for _, name := range []string{"2/1", "1/10", "1/2", "1/9"} {
		task.Tests = append(task.Tests, problem.Test{Name: name})
	}
	verdicts := map[string]api.Verdict{"1/10": api.Accepted, "1/2": api.WrongAnswer, "2/1": api.Accepted}
	report, err := task.runTests(t.Context(), func(_ context.Context, test problem.Test) <-chan measure.Result {
		result := make(chan measure.Result, 1)
		result <- measure.Result{Report: api.TestReport{Name: test.Name, Verdict: verdicts[test.Name], Agree: true}}
		return result
	}, func(api.TestReport) {})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range report.Tests {
		got = append(got, r.Name+" "+string(r.Verdict))
	}
	for _, g := range report.Groups {
		got = append(got, fmt.Sprintf("%s %s %g of %g", g.Name, g.Verdict, *g.Score, *g.MaxScore))
	}
	got = append(got, fmt.Sprintf("%s %g", report.Verdict, *report.Score))
	want := []string{"1/10 AC", "1/2 WA", "1/9 SK", "2/1 AC", "1 WA 0 of 10", "2 AC 10 of 10", "PC 10"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestRunTestsOverlap: a test runs while the output of the previous one is checked, and is cancelled if that check ends
// the task.
func TestRunTestsOverlap(t *testing.T) {
	report := func(name string, v api.Verdict) measure.Result {
		return measure.Result{Report: api.TestReport{Name: name, Verdict: v, Agree: true}}
	}
	for _, tt := range []struct {
		name    string
		stop    api.Stop
		check   measure.Result // result of test 1, which ends only while test 2 runs
		want    []api.Verdict
		decided []string
		cause   error // reason for the end of test 2
	}{
		{"accepted", "", report("1", api.Accepted), []api.Verdict{"AC", "AC", "AC"}, []string{"1", "2", "3"}, nil},
		{"rejected", "", report("1", api.WrongAnswer), []api.Verdict{"WA", "SK", "SK"}, []string{"1"}, errStopped},
		{"rejected, and never stop", api.StopNever, report("1", api.WrongAnswer), []api.Verdict{"WA", "AC", "AC"},
			[]string{"1", "2", "3"}, nil},
		{"failed", "", measure.Result{Err: context.DeadlineExceeded}, nil, nil, errStopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first := make(chan measure.Result, 1)
			var cause error
			task := Task{Stop: tt.stop, Tests: []problem.Test{{Name: "1"}, {Name: "2"}, {Name: "3"}}}
			var decided []string
			r, err := task.runTests(t.Context(), func(ctx context.Context, test problem.Test) <-chan measure.Result {
				result := make(chan measure.Result, 1)
				switch test.Name {
				case "1":
					return first
				case "2":
					first <- tt.check // only now, while test 2 runs
					if tt.cause != nil {
						<-ctx.Done()
						cause = context.Cause(ctx)
						result <- measure.Result{Err: cause}
						return result
					}
				}
				result <- report(test.Name, api.Accepted)
				return result
			}, func(r api.TestReport) { decided = append(decided, r.Name) })
			if !errors.Is(err, tt.check.Err) {
				t.Errorf("error %v, want %v", err, tt.check.Err)
			}
			var got []api.Verdict
			for _, x := range r.Tests {
				got = append(got, x.Verdict)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.decided, decided); diff != "" {
				t.Errorf("decided (-want +got):\n%s", diff)
			}
			if !errors.Is(cause, tt.cause) {
				t.Errorf("test 2 ended by %v, want %v", cause, tt.cause)
			}
		})
	}
}

// TestSummarize checks the members of a job's report that come from its tests.
func TestSummarize(t *testing.T) {
	ms := func(n int) *time.Duration { return new(time.Duration(n) * time.Millisecond) }
	kib := func(n units.Bytes) *units.Bytes { return new(n << 10) }
	ac := func(cpu, wall *time.Duration, peak *units.Bytes) api.TestReport {
		return api.TestReport{Verdict: api.Accepted, CPUTime: cpu, WallTime: wall, MemoryPeak: peak, Agree: true}
	}
	unsteady := ac(ms(2), ms(2), nil)
	unsteady.Agree = false
	failed := api.TestReport{Name: "7", Agree: true}
	failed.Fail(api.HostFault, "no answer file")
	for _, tt := range []struct {
		name  string
		tests []api.TestReport
		want  api.Report
	}{
		{"the worst of each", []api.TestReport{ac(ms(1), ms(9), nil), ac(ms(5), ms(6), kib(3)), ac(nil, nil, kib(2))},
			api.Report{Verdict: api.Accepted, JudgementType: "AC", CPUTime: ms(5), WallTime: ms(9), MemoryPeak: kib(3),
				Deterministic: new(true)}},
		{"one test is not deterministic", []api.TestReport{unsteady, ac(ms(1), nil, nil)},
			api.Report{Verdict: api.Accepted, JudgementType: "AC", CPUTime: ms(2), WallTime: ms(2),
				Deterministic: new(false)}},
		{"the mean of the scores", []api.TestReport{{Verdict: api.Partial, Score: new(0.25), Agree: true},
			{Verdict: api.Accepted, Agree: true},
			{Verdict: api.WrongAnswer, Agree: true}, {Verdict: api.RuntimeError, Agree: true}},
			api.Report{Verdict: api.WrongAnswer, JudgementType: "WA", Score: new(0.3125), Deterministic: new(true)}},
		{"the mean is rounded", []api.TestReport{{Verdict: api.Partial, Score: new(0.7), Agree: true},
			{Verdict: api.Partial, Score: new(0.7), Agree: true}, {Verdict: api.Partial, Score: new(0.7), Agree: true}},
			api.Report{Verdict: api.Partial, JudgementType: "AC", Score: new(0.7), Deterministic: new(true)}},
		{"an internal error says which test and why", []api.TestReport{ac(nil, nil, nil), failed},
			api.Report{Verdict: api.InternalError, JudgementType: "JE", Fault: api.HostFault,
				Message: `judge test "7": no answer file`, Deterministic: new(true)}},
		{"only where it decides", []api.TestReport{{Verdict: api.WrongAnswer, Agree: true}, failed},
			api.Report{Verdict: api.WrongAnswer, JudgementType: "WA", Deterministic: new(true)}},
		{"no test", nil, api.Report{Verdict: api.InternalError, JudgementType: "JE", Fault: api.JudgedFault,
			Message: "no test was run", Deterministic: new(true)}},
		{"a test was not run", []api.TestReport{ac(nil, nil, nil), {Verdict: api.Skipped, Agree: true}},
			api.Report{Verdict: api.InternalError, JudgementType: "JE", Fault: api.JudgedFault, Deterministic: new(true),
				Message: `test "1" was not run, and nothing says that it need not be`}},
	} {
		task := Task{Stop: api.StopNever}
		for i := range tt.tests {
			if tt.tests[i].Name == "" {
				tt.tests[i].Name = fmt.Sprint(i)
			}
			task.Tests = append(task.Tests, problem.Test{Name: tt.tests[i].Name})
		}
		tt.want.State, tt.want.Tests = api.Done, tt.tests
		got, err := task.summarize(t.Context(), tt.tests)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestSummarizeScheme: with a scheme, the verdict can be that of another test than the first that failed. With IE, the
// report has the fault and the reason.
func TestSummarizeScheme(t *testing.T) {
	failed := api.TestReport{Name: "2", Agree: true}
	failed.Fail(api.JuryFault, "the checker crashed")
	wrong := api.TestReport{Name: "1", Verdict: api.WrongAnswer, Agree: true}
	group := func(test string, most float64) *api.Group {
		return &api.Group{Name: test, MaxScore: &most, Members: []api.Member{{Test: test, Accept: 1}}}
	}
	two := api.Group{Continue: true, Verdict: api.FirstError, Members: []api.Member{{Test: "1"}, {Test: "2"}}}
	ignored := api.Group{Continue: true, IgnoreFirst: true, Verdict: api.ByScore, Members: []api.Member{
		{Group: &api.Group{Name: "sample", Members: []api.Member{{Test: "2"}}}},
		{Group: &api.Group{Name: "secret", Members: []api.Member{{Test: "1"}}}}}}
	type said struct {
		Verdict api.Verdict
		Type    string
		Fault   api.Fault
		Message string
	}
	for _, tt := range []struct {
		name   string
		scheme api.Scheme
		tests  []api.TestReport
		want   said
	}{
		{"after a wrong answer", api.Scheme{Root: &two}, []api.TestReport{wrong, failed},
			said{api.InternalError, "JE", api.JuryFault, `judge test "2": the checker crashed`}},
		{"where its points do not count", api.Scheme{Root: &ignored}, []api.TestReport{failed, wrong},
			said{api.InternalError, "JE", api.JuryFault, `judge test "2": the checker crashed`}},
		{"a score above its maximum", api.Scheme{Root: group("1", 0.5), Scoring: true},
			[]api.TestReport{{Name: "1", Verdict: api.Accepted, Agree: true}},
			said{api.InternalError, "JE", api.ProblemFault,
				`score 1 of group "1" is above its maximum 0.5; the problem's points or its checker are wrong`}},
	} {
		r, err := Task{Scheme: &tt.scheme}.summarize(t.Context(), tt.tests)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, said{r.Verdict, r.JudgementType, r.Fault, r.Message}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestNewTask checks where the files of a job are stored, and the names in errors.
func TestNewTask(t *testing.T) {
	absent := errors.New("no such blob")
	path := func(f api.File) (string, error) {
		if f.Blob == "absent" {
			return "", absent
		}
		return "/blobs/" + f.Blob, nil
	}
	file := func(name string) *api.File { return &api.File{Blob: name} }
	complete := func() api.Job {
		return api.Job{
			Program: *file("p"), Command: []string{"python3", "{program}", "--with={program}"},
			Files:   map[string]api.File{"z": *file("z"), "a": *file("a")},
			Tests:   []api.Test{{Name: "1", Input: file("in"), Answer: file("ans")}, {Name: "2"}},
			Checker: &api.Checker{Kind: "lines"}, Limits: api.Limits{CPUTimeMS: 5}, Repeats: api.Repeats{Min: 2},
			Stop: api.StopNever, Head: 3,
		}
	}
	got, err := NewTask(complete(), "sol.py", path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Checker.String() != "lines" {
		t.Errorf("checker %s", got.Checker)
	}
	got.Checker = nil
	want := Task{
		Args: []string{"python3", "./sol.py", "--with=./sol.py"},
		Files: []sandbox.File{{Name: "sol.py", Path: "/blobs/p", Exec: true}, {Name: "a", Path: "/blobs/a"},
			{Name: "z", Path: "/blobs/z"}},
		Tests:  []problem.Test{{Name: "1", Input: "/blobs/in", Answer: "/blobs/ans"}, {Name: "2"}},
		Limits: api.Limits{CPUTimeMS: 5}, Repeats: api.Repeats{Min: 2}, Stop: api.StopNever, Head: 3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	for want, change := range map[string]func(*api.Job){
		`find file "sol.py": no such blob`:      func(j *api.Job) { j.Program = *file("absent") },
		`find file "a": no such blob`:           func(j *api.Job) { j.Files["a"] = *file("absent") },
		`find input of test "2": no such blob`:  func(j *api.Job) { j.Tests[1].Input = file("absent") },
		`find answer of test "1": no such blob`: func(j *api.Job) { j.Tests[0].Answer = file("absent") },
		`unknown checker "frob": use ` + "tokens, exact, lines, words, kattis, dmoj or float:EPS such as float:1e-6": func(
			j *api.Job) {
			j.Checker.Kind = "frob"
		},
		"the job has no checker": func(j *api.Job) { j.Checker = nil },
	} {
		j := complete()
		change(&j)
		if _, err := NewTask(j, "sol.py", path); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	noProgram := complete()
	noProgram.Program, noProgram.Files = api.File{}, nil
	if got, err := NewTask(noProgram, "", path); err != nil || len(got.Files) != 0 {
		t.Errorf("without a program: files %v, error %v", got.Files, err)
	}
}
