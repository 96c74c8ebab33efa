package api

import (
	"fmt"
	"testing"
)

// TestBreakOfLegacyGroups: with on_reject: break, a group counts its members up to the first one that failed, and a group
// within it that continues comes to its end, as in problemtools.
func TestBreakOfLegacyGroups(t *testing.T) {
	three := func(g Group, reject float64) *Group {
		for _, name := range []string{"1", "2", "3"} {
			g.Members = append(g.Members, Member{Test: g.Name + name, Accept: 10, Reject: reject})
		}
		return &g
	}
	outer := func(verdict VerdictMode, groups ...*Group) *Group {
		g := &Group{Aggregation: Sum, Verdict: verdict}
		for _, x := range groups {
			g.Members = append(g.Members, Member{Group: x})
		}
		return g
	}
	for _, tt := range []struct {
		name   string
		root   *Group
		failed map[string]Verdict
		want   string // verdict, score and tests that ran
	}{
		{"average of those that ran", three(Group{Aggregation: Average, Verdict: AlwaysAccept}, 0),
			map[string]Verdict{"2": WrongAnswer}, "PC 5 12"},
		{"reject_score of those that ran", three(Group{Aggregation: Sum, Verdict: AlwaysAccept}, 2),
			map[string]Verdict{"1": WrongAnswer}, "PC 2 1"},
		{"with continue, of all", three(Group{Aggregation: Sum, Verdict: AlwaysAccept, Continue: true}, 2),
			map[string]Verdict{"1": WrongAnswer}, "PC 22 123"},
		{"a group that continues", outer(AlwaysAccept,
			three(Group{Name: "a", Aggregation: Sum, Verdict: WorstError, Continue: true}, 0),
			three(Group{Name: "b", Aggregation: Sum, Verdict: WorstError}, 0)),
			map[string]Verdict{"a1": WrongAnswer}, "PC 20 a1a2a3"},
		{"the worst error of a group that continues", outer(WorstError,
			three(Group{Name: "a", Verdict: WorstError, Continue: true}, 0)),
			map[string]Verdict{"a1": WrongAnswer, "a2": RuntimeError}, "RTE 0 a1a2a3"},
		{"a group of which none is accepted", outer(WorstError,
			three(Group{Name: "a", Verdict: FirstError, AcceptIfAny: true, Continue: true}, 0),
			three(Group{Name: "b", Verdict: WorstError, Continue: true}, 0)),
			map[string]Verdict{"a1": WrongAnswer, "a2": WrongAnswer, "a3": WrongAnswer, "b1": RuntimeError},
			"WA 0 a1a2a3b1b2b3"},
	} {
		s := Scheme{Root: tt.root, Scoring: true}
		progress, ran := s.NewProgress(StopFirstFailure), ""
		var tests []TestReport
		for _, name := range s.Tests() {
			r := TestReport{Name: name, Verdict: Skipped}
			if progress.Needs(name) {
				ran += name
				if r.Verdict = tt.failed[name]; r.Verdict == "" {
					r.Verdict = Accepted
				}
				progress.Record(r)
			}
			tests = append(tests, r)
		}
		r, err := s.Result(tests, StopFirstFailure, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := fmt.Sprintf("%s %g %s", r.Verdict, *r.Score, ran); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
