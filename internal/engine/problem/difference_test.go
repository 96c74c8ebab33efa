package problem

import (
	"strings"
	"testing"

	"judged/internal/api"
)

// reportOf makes a report from "TEST:VERDICT ..." and the verdict of all.
func reportOf(verdict api.Verdict, tests string) api.Report {
	r := api.Report{Verdict: verdict}
	for f := range strings.FieldsSeq(tests) {
		name, v, _ := strings.Cut(f, ":")
		r.Tests = append(r.Tests, api.TestReport{Name: name, Verdict: api.Verdict(v)})
	}
	return r
}

// TestNeedsMore checks that tests after the first failure are run only where they can show what is expected.
func TestNeedsMore(t *testing.T) {
	tle := Expectation{Permitted: []string{"AC", "WA", "TLE"}, Required: []string{"TLE"}}
	for _, tt := range []struct {
		name   string
		expect Expectation
		r      api.Report
		want   bool
	}{
		{"the required verdict was seen", tle, reportOf("TLE", "1:AC 2:TLE 3:SK"), false},
		{"it may still come", tle, reportOf("WA", "1:AC 2:WA 3:SK"), true},
		{"no test is left", tle, reportOf("WA", "1:AC 2:AC 3:WA"), false},
		{"a verdict that is not permitted", tle, reportOf("RTE", "1:AC 2:RTE 3:SK"), false},
		{"another final verdict", Expectation{Final: []string{"WA"}, Required: []string{"RTE"}},
			reportOf("TLE", "1:TLE 2:SK"), false},
		{"only tests of the glob", Expectation{Tests: "secret/b", Required: []string{"WA"}},
			reportOf("WA", "secret/a/1:WA secret/a/2:SK secret/b/1:AC"), false},
		{"a test of the glob", Expectation{Tests: "secret/b", Required: []string{"WA"}},
			reportOf("WA", "secret/a/1:WA secret/b/1:SK"), true},
		{"a message", Expectation{Message: "too long"}, reportOf("WA", "1:WA 2:SK"), true},
		{"nothing is expected", Expectation{}, reportOf("WA", "1:WA 2:SK"), false},
	} {
		if got := (Submission{Expected: []Expectation{tt.expect}}).NeedsMore(tt.r); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestMayPass checks which submissions of the folders may be accepted.
func TestMayPass(t *testing.T) {
	for folder, want := range map[string]bool{"accepted": true, "wrong_answer": false, "time_limit_exceeded": false,
		"run_time_error": false, "rejected": false, "partially_accepted": false, "mixed": true} {
		meaning := folderRules[folder]
		if got := meaning.MayPass(); got != want {
			t.Errorf("%s: %t, want %t", folder, got, want)
		}
	}
}
