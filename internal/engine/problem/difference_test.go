package problem

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// reportOf returns a report of "TEST:VERDICT ..." with the verdict of the submission.
func reportOf(verdict api.Verdict, tests string) api.Report {
	r := api.Report{Verdict: verdict}
	for f := range strings.FieldsSeq(tests) {
		name, v, _ := strings.Cut(f, ":")
		r.Tests = append(r.Tests, api.TestReport{Name: name, Verdict: api.Verdict(v)})
	}
	return r
}

// TestNeedsMore checks that tests after the first failure are run only if they may still match the expectation.
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
		{"a verdict of tests of which none was run", Expectation{Tests: "secret/b", Permitted: []string{"AC"}},
			reportOf("WA", "secret/a/1:WA secret/b/1:SK"), true},
		{"a verdict of tests of which one was run", Expectation{Tests: "secret/b", Permitted: []string{"AC"}},
			reportOf("WA", "secret/b/1:AC secret/a/1:WA secret/b/2:SK"), false},
		{"a message", Expectation{Message: "too long"}, reportOf("WA", "1:WA 2:SK"), true},
		{"nothing is expected", Expectation{}, reportOf("WA", "1:WA 2:SK"), false},
	} {
		if got := (Submission{Expected: []Expectation{tt.expect}}).NeedsMore(tt.r); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestMayPass checks which submissions may be accepted according to their folder.
func TestMayPass(t *testing.T) {
	for folder, want := range map[string]bool{"accepted": true, "wrong_answer": false, "time_limit_exceeded": false,
		"run_time_error": false, "rejected": false, "partially_accepted": false, "mixed": true} {
		meaning := folderRules[folder]
		if got := meaning.MayPass(); got != want {
			t.Errorf("%s: %t, want %t", folder, got, want)
		}
	}
}

// TestAcceptedBelowFull: an accepted submission must get all points, unless the package gives another score.
func TestAcceptedBelowFull(t *testing.T) {
	files := pack{"problem.yaml": "problem_format_version: 2025-09\nname: x\ntype: scoring\n",
		"data/secret/a/1.in": "", "data/secret/a/1.ans": "", "data/secret/a/test_group.yaml": "max_score: 30\n",
		"data/secret/b/1.in": "", "data/secret/b/1.ans": "", "data/secret/b/test_group.yaml": "require_pass: secret/a\n",
		"submissions/accepted/a.py": "", "submissions/accepted/scored.py": "# @EXPECTED_SCORE@: 30\n",
		"submissions/partially_accepted/p.py": "", "submissions/mixed/tagged.py": "# @EXPECTED_RESULTS@: CORRECT\n"}
	const below = "score 30 of 100; an accepted submission gets all points: see the points of the groups, or move it to " +
		"partially_accepted"
	p, err := openTest(t, files.folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got := map[string][]string{}
	for _, s := range p.Submissions {
		for _, score := range []float64{30, 100} {
			r := reportOf("AC", "secret/a/1:AC secret/b/1:AC")
			r.Score = &score
			key := fmt.Sprintf("%s %g", path.Base(s.Name), score)
			got[key] = s.Difference(r)
		}
	}
	if diff := cmp.Diff(map[string][]string{"a.py 30": {below}, "tagged.py 30": {below}, "a.py 100": nil,
		"scored.py 30": nil, "scored.py 100": {"score 100, expected 30 to 30"}, "tagged.py 100": nil,
		"p.py 30": {"verdict AC, expected PC"}, "p.py 100": {"verdict AC, expected PC"}}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
