package api

import (
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
