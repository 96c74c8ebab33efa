package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine/languages"
	"judged/internal/engine/problem"
)

// timedReport makes a report from "TEST:VERDICT:MS ..." and the verdict of all; tests without a time have not run.
func timedReport(t *testing.T, verdict api.Verdict, tests string) api.Report {
	t.Helper()
	r := api.Report{Verdict: verdict, JudgementType: verdict.JudgementType()}
	for f := range strings.FieldsSeq(tests) {
		parts := strings.Split(f, ":")
		report := api.TestReport{Name: parts[0], Verdict: api.Verdict(parts[1])}
		if len(parts) > 2 {
			d, err := time.ParseDuration(parts[2] + "ms")
			if err != nil {
				t.Fatal(err)
			}
			report.CPUTime = &d
		}
		r.Tests = append(r.Tests, report)
	}
	return r
}

// TestWithLimit checks what a report with a limit of 200 ms says about one of 100 ms.
func TestWithLimit(t *testing.T) {
	member := func(name string) api.Member { return api.Member{Test: name} }
	plain := api.Scheme{Root: &api.Group{Members: []api.Member{member("1"), member("2"), member("3")}}}
	points := func(name string, tests ...api.Member) api.Member {
		ten := 10.0
		return api.Member{Group: &api.Group{Name: name, Members: tests, MaxScore: &ten, Aggregation: api.PassFail,
			Verdict: api.ByScore}}
	}
	scored := api.Scheme{Scoring: true, Root: &api.Group{Continue: true, Aggregation: api.Sum, Verdict: api.ByScore,
		Members: []api.Member{points("a", member("1")), points("b", member("2"), member("3"))}}}
	for _, tt := range []struct {
		name    string
		scheme  api.Scheme
		stop    api.Stop
		verdict api.Verdict
		tests   string
		want    string // "VERDICT TEST:VERDICT ..."
	}{
		{"within the limit", plain, api.StopFirstFailure, "AC", "1:AC:50 2:AC:100 3:AC:1", "AC 1:AC 2:AC 3:AC"},
		{"over both limits", plain, api.StopFirstFailure, "TLE", "1:AC:50 2:TLE:260 3:SK", "TLE 1:AC 2:TLE 3:SK"},
		{"between the limits", plain, api.StopFirstFailure, "AC", "1:AC:50 2:AC:150 3:AC:1", "TLE 1:AC 2:TLE 3:SK"},
		{"all tests", plain, api.StopNever, "AC", "1:AC:50 2:AC:150 3:AC:1", "TLE 1:AC 2:TLE 3:AC"},
		{"wrong, and too late for the shorter limit", plain, api.StopFirstFailure, "WA", "1:WA:150 2:SK 3:SK",
			"TLE 1:TLE 2:SK 3:SK"},
		{"an earlier test decides", plain, api.StopFirstFailure, "TLE", "1:AC:150 2:TLE:260 3:SK", "TLE 1:TLE 2:SK 3:SK"},
		{"an internal error stays", plain, api.StopFirstFailure, "IE", "1:AC:150 2:IE:160", "IE 1:AC 2:IE"},
		{"a group with points", scored, api.StopFirstFailure, "AC", "1:AC:5 2:AC:150 3:AC:1", "PC 1:AC 2:TLE 3:SK"},
	} {
		r := timedReport(t, tt.verdict, tt.tests)
		got, err := withLimit(tt.scheme, r, 100*time.Millisecond, tt.stop)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		said := []string{string(got.Verdict)}
		for _, x := range got.Tests {
			said = append(said, x.Name+":"+string(x.Verdict))
		}
		if diff := cmp.Diff(tt.want, strings.Join(said, " ")); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
		if got.JudgementType != got.Verdict.JudgementType() {
			t.Errorf("%s: judgement type %q of %s", tt.name, got.JudgementType, got.Verdict)
		}
	}
}

// TestSolutionTimes checks that the times of a solution are those of its slowest test, also after that was repeated.
func TestSolutionTimes(t *testing.T) {
	const ms = time.Millisecond
	run := func(times ...time.Duration) (runs []api.Run) {
		for _, d := range times {
			runs = append(runs, api.Run{CPUTime: d, Kept: true})
		}
		return runs
	}
	r := timedReport(t, api.Accepted, "1:AC:10 2:AC:30 3:AC:20 4:SK")
	for i, d := range []time.Duration{10 * ms, 30 * ms, 20 * ms} {
		r.Tests[i].Runs = run(d)
	}
	half := solution{Name: "a", TimeRatio: 2}
	half.record(r, 100*ms)
	if half.CPUTime != 15*ms || half.High != 15*ms || half.Tests[0].Runs[0] != 5*ms || half.multiplied(ms) != 2*ms {
		t.Errorf("with the factor 2: %+v", half)
	}
	own := solution{Name: "a", own: map[string]time.Duration{"1": 20 * ms}}
	own.record(r, 100*ms)
	if own.slowest != "1" || own.CPUTime != 10*ms || own.part(100*ms) != 0.5 || own.limit(100*ms) != 20*ms {
		t.Errorf("with a limit of a test: %+v", own)
	}
	x := solution{Name: "a"}
	x.record(r, 100*ms)
	again := timedReport(t, api.Accepted, "2:AC:31")
	again.Tests[0].Runs = run(30*ms, 31*ms, 34*ms)
	again.Tests[0].Timing = &api.Timing{Spread: 4 * ms, Min: 30 * ms, Max: 34 * ms}
	x.measured(again)
	want := solution{Name: "a", Verdict: api.Accepted, judged: true, slowest: "2", CPUTime: 31 * ms, Spread: 4 * ms,
		Low: 30 * ms, High: 34 * ms, Tests: []testVerdict{{"1", api.Accepted, []time.Duration{10 * ms}},
			{"2", api.Accepted, []time.Duration{30 * ms, 31 * ms, 34 * ms}}, {"3", api.Accepted,
				[]time.Duration{20 * ms}}, {"4", api.Skipped, nil}}}
	if diff := cmp.Diff(want, x, cmp.AllowUnexported(solution{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if x.runs() != 3 {
		t.Errorf("%d runs of the slowest test, want 3", x.runs())
	}
}

// TestSettled: only a submission whose time may bound the limit is measured again.
func TestSettled(t *testing.T) {
	const ms = time.Millisecond
	rule := problem.TimeRule{Accepted: 2, Rejected: 1.5, Resolution: time.Second}
	for _, tt := range []struct {
		name           string
		always         bool
		given          time.Duration // limit of the package
		slowest, limit time.Duration
		want           bool
	}{
		{"far from the limit", false, time.Second, 250 * ms, time.Second, true},
		{"over it, if it takes twice as long", false, time.Second, 251 * ms, time.Second, false},
		{"far, but asked for", true, time.Second, ms, time.Second, false},
		{"the same limit", false, 0, 250 * ms, 60 * time.Second, true},
		{"another limit", false, 0, 260 * ms, 60 * time.Second, false},
	} {
		pkg := &problem.Package{Limits: problem.Limits{Time: tt.given}, TimeRule: rule}
		v := &verifier{repeatAlways: tt.always, pkg: pkg}
		if got := v.settled(tt.slowest, tt.limit); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestWithBuiltIn: the languages of the operator count, and the others are built in.
func TestWithBuiltIn(t *testing.T) {
	all, err := withBuiltIn(languages.Catalogue{"c": {ID: "c", Name: "C of the operator"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := []string{all["c"].Name, all["build"].ID}; !slices.Equal(got, []string{"C of the operator", "build"}) {
		t.Errorf("got %q", got)
	}
}

// TestFastest: what was idle does not count as the fastest of those that must be too slow.
func TestFastest(t *testing.T) {
	of := func(name string, verdict api.Verdict, took time.Duration) solution {
		return solution{Name: name, Verdict: verdict, CPUTime: took, upper: true, judged: true}
	}
	for _, tt := range []struct {
		all  []solution
		want string
	}{
		{[]solution{of("slow", api.TimeLimit, 3*time.Second), of("idle", api.IdlenessLimit, time.Millisecond),
			of("wall", api.WallTimeLimit, time.Millisecond)}, "slow"},
		{[]solution{of("slow", api.TimeLimit, 3*time.Second), of("fast", api.Accepted, time.Millisecond)}, "fast"},
		{[]solution{of("idle", api.IdlenessLimit, time.Millisecond)}, ""},
	} {
		got := ""
		if s := fastest(tt.all, time.Second, isUpper); s != nil {
			got = s.Name
		}
		if got != tt.want {
			t.Errorf("fastest of %+v: %q, want %q", tt.all, got, tt.want)
		}
	}
}
