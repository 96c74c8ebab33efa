package front

import (
	"fmt"
	"math"
	"testing"
	"time"

	"judged/internal/api"
)

// test returns a test whose runs took the given milliseconds. Negative ones were disturbed.
func test(v api.Verdict, runs ...int) api.TestReport {
	t := api.TestReport{Verdict: v}
	for _, ms := range runs {
		r := api.Run{CPUTime: time.Duration(max(ms, -ms)) * time.Millisecond, Kept: true, Disturbed: []api.Cause{}}
		if ms < 0 {
			r.Disturbed = append(r.Disturbed, api.CauseSteal)
		}
		t.Runs = append(t.Runs, r)
	}
	return t
}

func report(tests ...api.TestReport) api.Report {
	return api.Report{Host: &api.HostReport{Node: "n1"}, Tests: tests}
}

func TestLogRatio(t *testing.T) {
	tests := []struct {
		name            string
		original, again api.Report
		want            float64 // ratio; 0 if there is no ratio
	}{
		{"one test", report(test(api.Accepted, 100)), report(test(api.Accepted, 110)), 1.1},
		{"disturbed runs", report(test(api.Accepted, -500, 100)), report(test(api.Accepted, 110, -900)), 1.1},
		{"all disturbed", report(test(api.Accepted, -500)), report(test(api.Accepted, 110)), 0},
		{"too short", report(test(api.Accepted, 40)), report(test(api.Accepted, 50)), 0},
		{"one is too short", report(test(api.Accepted, 40)), report(test(api.Accepted, 80)), 2},
		{"another verdict", report(test(api.Accepted, 100)), report(test(api.WrongAnswer, 110)), 0},
		{"killed at the limit", report(test(api.TimeLimit, 100)), report(test(api.TimeLimit, 110)), 0},
		{"median of tests", report(test(api.Accepted, 100), test(api.Accepted, 100), test(api.WrongAnswer, 200)),
			report(test(api.Accepted, 110), test(api.Accepted, 300), test(api.WrongAnswer, 200)), 1.1},
		{"no time", report(test(api.Accepted, 0)), report(test(api.Accepted, 110)), 0},
		{"another number of tests", report(test(api.Accepted, 100)), report(), 0},
	}
	for _, tt := range tests {
		got, ok := logRatio(tt.original, tt.again)
		if ok != (tt.want > 0) || ok && math.Abs(math.Exp(got)-tt.want) > 1e-9 {
			t.Errorf("%s: %.4f, %v; want %v", tt.name, math.Exp(got), ok, tt.want)
		}
	}
}

func TestComparable(t *testing.T) {
	unnamed := report(test(api.Accepted, 100))
	unnamed.Host = &api.HostReport{}
	for name, tt := range map[string]struct {
		report api.Report
		want   bool
	}{
		"long":         {report(test(api.Accepted, 1), test(api.WrongAnswer, 50)), true},
		"short":        {report(test(api.Accepted, 49)), false},
		"disturbed":    {report(test(api.Accepted, -100)), false},
		"no tests":     {report(), false},
		"unnamed node": {unnamed, false},
		"not judged":   {api.Report{}, false},
	} {
		if got := comparable(tt.report); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestChosen(t *testing.T) {
	for _, share := range []float64{0, 0.02, 0.5, 1} {
		n, same := 0, 0
		for i := range 10_000 {
			id := fmt.Sprint("job-", i)
			if chosen("salt", id, share) {
				n++
				if chosen("pepper", id, share) {
					same++
				}
			}
		}
		got := float64(n) / 10_000
		if math.Abs(got-share) > 0.03*math.Sqrt(share) {
			t.Errorf("share %v: chose %v", share, got)
		}
		if share == 0.5 && math.Abs(float64(same)/float64(n)-share) > 0.03 {
			t.Errorf("another salt chooses %d of %d again", same, n)
		}
	}
}
