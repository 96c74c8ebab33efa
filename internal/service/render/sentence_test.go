package render

import (
	"testing"
	"time"

	"judged/internal/api"
)

func TestSentence(t *testing.T) {
	run := func(cpu int, causes ...api.Cause) api.Run {
		return api.Run{CPUTime: time.Duration(cpu) * time.Millisecond, Disturbed: causes, Kept: true}
	}
	test := func(name string, v api.Verdict, runs ...api.Run) api.TestReport {
		x := api.TestReport{Name: name, Verdict: v, Runs: runs, Timing: &api.Timing{Limit: time.Second}}
		if len(runs) > 0 {
			x.CPUTime = &runs[0].CPUTime
		}
		return x
	}
	done := func(v api.Verdict, tests ...api.TestReport) api.Report {
		return api.Report{State: api.Done, Verdict: v, Tests: tests}
	}
	wrong := test("3", api.WrongAnswer, run(10))
	wrong.Checker = &api.CheckReport{Message: "line 2 differs."}
	for _, tt := range []struct {
		name string
		r    api.Report
		want string
	}{
		{"two of three", done(api.TimeLimit, test("06", api.Accepted, run(1)),
			test("07", api.TimeLimit, run(1012), run(990), run(1015))),
			"Time limit exceeded on test 07: two of three runs were over 1.000 s, by 12.0 ms and 15.0 ms; " +
				"neither was disturbed."},
		{"one run", done(api.TimeLimit, test("1", api.TimeLimit, run(2000))),
			"Time limit exceeded on test 1: its run was over 1.000 s, by 1.000 s; it was not disturbed."},
		{"disturbed", done(api.TimeLimit, test("1", api.TimeLimit, run(1010, api.CauseForeign), run(1020), run(1030),
			run(1040))), "Time limit exceeded on test 1: four of four runs were over 1.000 s, by 10.0 ms to 40.0 ms; " +
			"one of them was disturbed (foreign)."},
		{"accepted", done(api.Accepted, test("1", api.Accepted, run(412))),
			"Accepted: 1 of 1 tests passed; test 1, the nearest to its limit, took 412.0 ms of 1.000 s."},
		{"rejected", done(api.WrongAnswer, wrong), "Wrong answer on test 3: line 2 differs."},
		{"an error", api.Report{State: api.Done, Verdict: api.InternalError, Fault: api.JuryFault,
			Message: "the checker ended by SIGSEGV"}, "Internal error, fault: jury: the checker ended by SIGSEGV."},
		{"not compiled", api.Report{State: api.Done, Verdict: api.CompileError,
			Message: "the compiler exited with status 1"}, "Compile error: the compiler exited with status 1."},
		{"no tests", done(api.Accepted), "Accepted."},
		{"waiting", api.Report{State: api.Queued}, "The job waits."},
		{"running", api.Report{State: api.Running, Tests: []api.TestReport{{}}},
			"The job is being judged; tests judged so far: 1."},
		{"another version", done("NEW"), "NEW."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Sentence(tt.r); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestVerdictNames checks that every verdict has a name.
func TestVerdictNames(t *testing.T) {
	for _, m := range api.Verdicts() {
		if name := VerdictName(api.Verdict(m.Word)); name == m.Word {
			t.Errorf("%s has no name", m.Word)
		}
	}
}
