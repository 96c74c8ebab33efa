package api

import (
	"fmt"
	"strings"
	"testing"
)

// TestScoredMember: where the checker must give the points, a test that it accepts without any is a fault of the problem.
func TestScoredMember(t *testing.T) {
	scheme := Scheme{Scoring: true, Root: &Group{Aggregation: Sum, Members: []Member{{Test: "1", Accept: 30, Scored: true}}}}
	for _, tt := range []struct {
		name  string
		test  TestReport
		want  float64
		fault string // part of the error, "" for none
	}{
		{"points", TestReport{Verdict: Accepted, Score: new(12.0)}, 12, ""},
		{"no points", TestReport{Verdict: Accepted}, 0, `accepts test "1" without points`},
		{"rejected", TestReport{Verdict: WrongAnswer}, 0, ""},
	} {
		tt.test.Name = "1"
		r, err := scheme.Result([]TestReport{tt.test}, StopFirstFailure, nil)
		switch {
		case tt.fault != "":
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%s: error %v, want %q", tt.name, err, tt.fault)
			}
		case err != nil || *r.Score != tt.want:
			t.Errorf("%s: %+v, %v, want %g points", tt.name, r, err, tt.want)
		}
	}
}

// TestAcceptedWithoutPoints: an output that the checker accepts with 0 points is a correct answer where a test has no
// maximum, so that the tests after it run and give their points. With a maximum it is WA, and so is any rejected output.
func TestAcceptedWithoutPoints(t *testing.T) {
	none := CheckReport{Verdict: WrongAnswer, Score: new(0.0), Accepts: true}
	for _, tt := range []struct {
		name string
		most *float64
		test TestReport
		want string
	}{
		{"no maximum", nil, TestReport{Verdict: WrongAnswer, Score: none.Score, Checker: &none}, "AC 50 ran"},
		{"a maximum", new(50.0), TestReport{Verdict: WrongAnswer, Score: none.Score, Checker: &none}, "WA 0 skipped"},
		{"rejected", nil, TestReport{Verdict: WrongAnswer, Checker: &CheckReport{Verdict: WrongAnswer}}, "WA 0 skipped"},
		{"too slow", nil, TestReport{Verdict: TimeLimit, Checker: &none}, "TLE 0 skipped"},
		{"a report of another host", nil, TestReport{Verdict: WrongAnswer, Score: new(0.0), Checker: &CheckReport{
			Verdict: WrongAnswer}}, "WA 0 skipped"},
	} {
		s := Scheme{Scoring: true, Root: &Group{Aggregation: Sum, Verdict: WorstError, Members: []Member{
			{Test: "1", Accept: 50, MaxScore: tt.most}, {Test: "2", Accept: 50, MaxScore: tt.most}}}}
		p := s.NewProgress(StopFirstFailure)
		tt.test.Name = "1"
		p.Record(tt.test)
		second, ran := TestReport{Name: "2", Verdict: Skipped}, "skipped"
		if p.Needs("2") {
			second, ran = TestReport{Name: "2", Verdict: Accepted}, "ran"
		}
		r, err := s.Result([]TestReport{tt.test, second}, StopFirstFailure, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := fmt.Sprintf("%s %g %s", r.Verdict, *r.Score, ran); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestPointsWithoutScoring: in a problem without points, the points that an output validator gives do not count. It has
// accepted the output by its exit status. A job without a problem has points nevertheless.
func TestPointsWithoutScoring(t *testing.T) {
	for _, tt := range []struct {
		name    string
		mode    VerdictMode
		verdict Verdict
		score   float64
		accepts bool
		want    string // verdict of the test and of the submission, and whether the next test ran
	}{
		{"no points", FirstError, WrongAnswer, 0, true, "AC AC ran"},
		{"some points", FirstError, Partial, 50, true, "AC AC ran"},
		{"all points", WorstError, Accepted, 1, true, "AC AC ran"},
		{"a part, of another protocol", FirstError, Partial, 0.5, false, "PC PC ran"},
		{"none, of another protocol", FirstError, WrongAnswer, 0, false, "WA WA skipped"},
		{"no problem", "", Partial, 0.5, true, "PC PC ran"},
		{"no problem, no points", "", WrongAnswer, 0, true, "WA WA skipped"},
	} {
		s := Scheme{Root: &Group{Verdict: tt.mode, Members: []Member{{Test: "1"}, {Test: "2"}}}}
		c := CheckReport{Verdict: tt.verdict, Score: &tt.score, Accepts: tt.accepts}
		tests := []TestReport{{Name: "1", Verdict: c.Verdict, Score: c.Score, Checker: &c}, {Name: "2", Verdict: Skipped}}
		p := s.NewProgress(StopFirstFailure)
		p.Record(tests[0])
		ran := "skipped"
		if p.Needs("2") {
			tests[1].Verdict, ran = Accepted, "ran"
		}
		r, err := s.Result(tests, StopFirstFailure, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := fmt.Sprintf("%s %s %s", tests[0].Verdict, r.Verdict, ran); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		left := tests[0].Score != nil || tests[0].Checker.Verdict != Accepted
		if isProblem := tt.mode != ""; isProblem && tt.accepts && left {
			t.Errorf("%s: the report has the points %v and the verdict %s of the checker", tt.name, tests[0].Score,
				tests[0].Checker.Verdict)
		}
	}
}

// TestPointsOfIgnoredSamples: what a checker gives for samples that do not count cannot be too much.
func TestPointsOfIgnoredSamples(t *testing.T) {
	scheme := func(ignore bool) Scheme {
		return Scheme{Scoring: true, Root: &Group{Aggregation: Sum, Verdict: WorstError, IgnoreFirst: ignore,
			MaxScore: new(100.0), Members: []Member{
				{Group: &Group{Name: "sample", Verdict: WorstError, MaxScore: new(0.0), Members: []Member{{Group: &Group{
					Name: "sample/a", Verdict: WorstError, MaxScore: new(0.0), Members: []Member{{Test: "s"}}}}}}},
				{Group: &Group{Name: "secret", Verdict: WorstError, MaxScore: new(100.0), Members: []Member{{Test: "t"}}}}}}}
	}
	tests := func() []TestReport {
		return []TestReport{{Name: "s", Verdict: Partial, Score: new(40.0)}, {Name: "t", Verdict: Partial, Score: new(70.0)}}
	}
	r, err := scheme(true).Result(tests(), StopFirstFailure, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s %g", r.Verdict, *r.Score)
	for _, g := range r.Groups {
		got += fmt.Sprintf(" %s %g", g.Name, *g.Score)
	}
	if want := "AC 70 sample 0 sample/a 0 secret 70"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := scheme(false).Result(tests(), StopFirstFailure, nil); err == nil {
		t.Error("points of samples that count are above their maximum without an error")
	}
}
