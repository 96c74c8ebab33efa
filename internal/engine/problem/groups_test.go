package problem

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// TestGroupsOfAnyVersion: the settings of a group apply, regardless of the version of their file and keys.
func TestGroupsOfAnyVersion(t *testing.T) {
	const draft, kattis, legacy = "problem_format_version: 2023-07-draft\n", "problem_format_version: 2025-09\n", ""
	tests := pack{"data/sample/1.in": "", "data/sample/1.ans": "",
		"data/secret/a/1.in": "", "data/secret/a/1.ans": "", "data/secret/b/1.in": "", "data/secret/b/1.ans": "",
		"data/secret/b/2.in": "", "data/secret/b/2.ans": "", "submissions/accepted/x.py": ""}
	const isNoFile, isNoKey = " is not a file of the format ", " is not a key of the format "
	for _, tt := range []struct {
		name, version string
		more          pack
		groups        []string
		points        string // points of the tests, and the maximum
		findings      []string
	}{
		{"draft with the file of legacy", draft, pack{"data/secret/testdata.yaml": "scoring: {score: 90, aggregation: sum}",
			"data/secret/a/testdata.yaml": "scoring: {score: 30, aggregation: min}",
			"data/secret/b/testdata.yaml": "scoring: {score: 60, aggregation: sum}"},
			[]string{`"" sum by_score unbounded [] continue=true`, `"sample" sum first_error unbounded [] continue=false`,
				`"secret" sum by_score 90 [] continue=true`, `"secret/a" min by_score 30 [] continue=false`,
				`"secret/b" sum by_score 60 [] continue=true`}, "0 30/30 30/30 30/30",
			[]string{"testdata.yaml" + isNoFile + "2023-07; judged uses it, but rename it to test_group.yaml"}},
		{"2025-09 with the keys of legacy", kattis, pack{
			"data/secret/a/testdata.yaml": "on_reject: break\naccept_score: 90\ngrader_flags: min",
			"data/secret/b/testdata.yaml": "accept_score: 70\nrange: 0 140"},
			[]string{`"" sum by_score unbounded [] continue=true`, `"sample" sum first_error unbounded [] continue=false`,
				`"secret" sum by_score unbounded [] continue=true`, `"secret/a" min worst_error unbounded [] continue=false`,
				`"secret/b" sum worst_error 140 [] continue=false`}, "0 90 70 70",
			[]string{"testdata.yaml" + isNoFile + "2025-09; judged uses it, but rename it to test_group.yaml",
				"testdata.yaml: on_reject" + isNoKey + "2025-09; judged uses it if possible",
				"testdata.yaml: grader_flags" + isNoKey + "2025-09; judged uses it if possible",
				"testdata.yaml: accept_score" + isNoKey + "2025-09; judged uses it if possible",
				"testdata.yaml: range" + isNoKey + "2025-09; judged uses it if possible"}},
		{"2025-09 with a key of legacy for all groups", kattis, pack{"data/test_group.yaml": "accept_score: 4",
			"data/secret/a/test_group.yaml": "max_score: 30"},
			[]string{`"" sum by_score unbounded [] continue=true`, `"sample" sum worst_error unbounded [] continue=false`,
				`"secret" sum worst_error unbounded [] continue=false`, `"secret/a" pass-fail by_score 30 [] continue=false`,
				`"secret/b" sum worst_error unbounded [] continue=false`}, "4 0 4 4",
			[]string{"test_group.yaml: accept_score" + isNoKey + "2025-09; judged uses it if possible"}},
		{"2025-09 with points for all groups", kattis, pack{"data/test_group.yaml": "max_score: 30",
			"data/secret/a/test_group.yaml": "max_score: 30"},
			[]string{`"" sum by_score unbounded [] continue=true`, `"sample" sum first_error unbounded [] continue=false`,
				`"secret" sum by_score 100 [] continue=true`, `"secret/a" pass-fail by_score 30 [] continue=false`,
				`"secret/b" pass-fail by_score unbounded [] continue=false`}, "0 0 0 0",
			[]string{`unknown key "max_score" in data/test_group.yaml`,
				"data/secret/b gives no points, because its test_group.yaml does not set their maximum"}},
		{"legacy of DOMjudge", legacy, pack{"domjudge-problem.ini": "timelimit=2",
			"data/testdata.yaml":          "on_reject: continue\ngrader_flags: sum",
			"data/secret/testdata.yaml":   "on_reject: continue",
			"data/secret/a/testdata.yaml": "accept_score: 60", "data/secret/b/testdata.yaml": "accept_score: 40"},
			[]string{`"" sum by_score unbounded [] continue=true`, `"sample" pass-fail by_score 0 [] continue=false`,
				`"secret" sum by_score unbounded [] continue=true`, `"secret/a" pass-fail by_score 60 [] continue=false`,
				`"secret/b" pass-fail by_score 40 [] continue=false`}, "0 0 0 0",
			[]string{"domjudge-problem.ini: points count as in DOMjudge: a group without subgroups gives its accept_score " +
				"once, and tests without testdata.yaml, such as samples, give none"}},
		{"legacy of DOMjudge, by a tag", legacy, pack{"submissions/wrong_answer/w.py": "# @EXPECTED_SCORE@: 60",
			"data/testdata.yaml":          "on_reject: continue\ngrader_flags: sum",
			"data/secret/a/testdata.yaml": "accept_score: 60", "data/secret/b/testdata.yaml": "accept_score: 40"},
			[]string{`"" sum by_score unbounded [] continue=true`, `"sample" pass-fail by_score 0 [] continue=false`,
				`"secret" sum by_score unbounded [] continue=true`, `"secret/a" pass-fail by_score 60 [] continue=false`,
				`"secret/b" pass-fail by_score 40 [] continue=false`}, "0 0 0 0",
			[]string{"submissions/wrong_answer/w.py: points count as in DOMjudge: a group without subgroups gives its " +
				"accept_score once, and tests without testdata.yaml, such as samples, give none"}},
		{"legacy of Kattis, with a tag", legacy, pack{"submissions/wrong_answer/w.py": "# @EXPECTED_SCORE@: 60",
			"submissions/partially_accepted/p.py": "", "data/secret/a/testdata.yaml": "accept_score: 60"},
			[]string{`"" sum worst_error unbounded [] continue=false`, `"sample" sum worst_error unbounded [] continue=false`,
				`"secret" sum worst_error unbounded [] continue=false`, `"secret/a" sum worst_error unbounded [] continue=false`,
				`"secret/b" sum worst_error unbounded [] continue=false`}, "1 60 1 1", nil},
		{"legacy of DOMjudge, points by the validator", "validation: custom\n", pack{
			"domjudge-problem.ini": "timelimit=2", "output_validators/v.py": "",
			"data/testdata.yaml": "accept_score: 7", "data/secret/testdata.yaml": "on_reject: continue",
			"data/secret/a/testdata.yaml": "range: 0 100\ngrader_flags: min\non_reject: continue",
			"data/secret/b/testdata.yaml": "accept_score: 40"},
			[]string{`"" sum by_score unbounded [] continue=false`, `"sample" pass-fail by_score 0 [] continue=false`,
				`"secret" sum by_score unbounded [] continue=true`, `"secret/a" min by_score 100 [] continue=true`,
				`"secret/b" pass-fail by_score 40 [] continue=false`}, "0 0 0 0",
			[]string{"domjudge-problem.ini: points count as in DOMjudge: a group without subgroups gives its accept_score " +
				"once, and tests without testdata.yaml, such as samples, give none"}},
		{"legacy of DOMjudge, a group without settings", legacy, pack{"domjudge-problem.ini": "timelimit=2",
			"data/testdata.yaml": "on_reject: continue", "data/secret/a/testdata.yaml": "accept_score: 100"},
			[]string{`"" sum by_score unbounded [] continue=true`, `"sample" pass-fail by_score 0 [] continue=false`,
				`"secret" sum by_score unbounded [] continue=true`, `"secret/a" pass-fail by_score 100 [] continue=false`,
				`"secret/b" pass-fail by_score 0 [] continue=false`}, "0 0 0 0",
			[]string{"domjudge-problem.ini: points count as in DOMjudge: a group without subgroups gives its accept_score " +
				"once, and tests without testdata.yaml, such as samples, give none"}},
		{"legacy with the file and the keys of 2025-09", legacy, pack{"data/secret/a/test_group.yaml": "max_score: 30",
			"data/secret/b/testdata.yaml": "max_score: 50\nscore_aggregation: sum\nrequire_pass: sample"},
			[]string{`"" sum worst_error unbounded [] continue=false`, `"sample" sum worst_error unbounded [] continue=false`,
				`"secret" sum worst_error unbounded [] continue=false`, `"secret/a" pass-fail by_score 30 [] continue=false`,
				`"secret/b" sum by_score 50 [sample] continue=true`}, "1 0 25/25 25/25",
			[]string{"test_group.yaml" + isNoFile + "legacy; judged uses it, but rename it to testdata.yaml",
				"test_group.yaml: max_score" + isNoKey + "legacy; judged uses it if possible",
				"testdata.yaml: max_score" + isNoKey + "legacy; judged uses it if possible",
				"testdata.yaml: score_aggregation" + isNoKey + "legacy; judged uses it if possible",
				"testdata.yaml: require_pass" + isNoKey + "legacy; judged uses it if possible"}},
		{"a key of legacy that cannot be used", kattis, pack{"data/secret/a/test_group.yaml": "accept_score: many",
			"data/secret/b/test_group.yaml": "max_score: 7"},
			[]string{`"" sum by_score unbounded [] continue=true`, `"sample" sum first_error unbounded [] continue=false`,
				`"secret" sum by_score unbounded [] continue=true`, `"secret/a" sum worst_error unbounded [] continue=false`,
				`"secret/b" pass-fail by_score 7 [] continue=false`}, "0 1 0 0",
			[]string{"test_group.yaml: accept_score" + isNoKey + "2025-09; judged uses it if possible",
				"data/secret/a/test_group.yaml: accept_score is not used: " +
					`line 1: the text "many" is not a number`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := tests.with(tt.more).with(pack{"problem.yaml": tt.version + "name: x\ntype: scoring\n"})
			p, err := openTest(t, files.folder(t))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if diff := cmp.Diff(tt.groups, summarize(p).Groups); diff != "" {
				t.Errorf("groups (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.points, pointsOf(p.Scheme.Root)); diff != "" {
				t.Errorf("points of the tests (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.findings, p.Findings); diff != "" {
				t.Errorf("findings (-want +got)\n%s", diff)
			}
		})
	}
}

// pointsOf lists the points of all tests, and the maximum if there is one.
func pointsOf(g *api.Group) string {
	text := ""
	for _, m := range g.Members {
		if text != "" {
			text += " "
		}
		switch {
		case m.Group != nil:
			text += pointsOf(m.Group)
		case m.MaxScore != nil:
			text += fmt.Sprintf("%g/%g", m.Accept, *m.MaxScore)
		default:
			text += fmt.Sprintf("%g", m.Accept)
		}
	}
	return text
}

// TestWrongPoints: groups without points that nobody set to 0, and with more points than their maximum, are findings.
func TestWrongPoints(t *testing.T) {
	const over = `%s gives up to %g points, more than its maximum %g; a submission that gets more is an internal error`
	none := func(group string) string {
		return "data/" + group + " gives no points, because its test_group.yaml does not set their maximum"
	}
	kattis := pack{"problem.yaml": "problem_format_version: 2025-09\nname: x\ntype: scoring\n",
		"data/secret/a/1.in": "", "data/secret/a/1.ans": "", "data/secret/b/1.in": "", "data/secret/b/1.ans": "",
		"data/secret/a/test_group.yaml": "max_score: 100", "submissions/accepted/x.py": ""}
	group := func(text string) pack { return kattis.with(pack{"data/secret/b/test_group.yaml": text}) }
	draft := pack{"problem.yaml": "problem_format_version: 2023-07\nname: x\ntype: scoring\n",
		"data/secret/test_group.yaml": "scoring: {score: 20, aggregation: sum}"}
	for _, tt := range []struct {
		name string
		pack pack
		want []string
	}{
		{"all points", group("max_score: 0"), nil},
		{"folder without settings", kattis, []string{none("secret/b")}},
		{"group without a maximum", group(""), []string{none("secret/b")}},
		{"tests without points", group("score_aggregation: sum"), []string{none("secret/b")}},
		{"tests without a maximum", group("score_aggregation: min\nmax_score: unbounded"), []string{none("secret/b")}},
		{"points of the validator", group("score_aggregation: sum").with(pack{"output_validator/v.py": ""}), nil},
		{"folder in a group of a draft", kattis.with(draft).with(pack{
			"data/secret/a/test_group.yaml": "scoring: {score: 20}", "data/secret/b/test_group.yaml": "scoring: {score: 0}",
			"data/secret/a/c/1.in": "", "data/secret/a/c/1.ans": ""}), nil},
		{"group of a draft", kattis.with(draft).with(pack{"data/secret/a/test_group.yaml": "scoring: {score: 20}"}),
			[]string{none("secret/b")}},
		{"more than the default", group("max_score: 50"), []string{fmt.Sprintf(over, "data/secret", 150.0, 100.0)}},
		{"more than the largest", group("max_score: 50").with(pack{
			"data/secret/test_group.yaml": "score_aggregation: min\nmax_score: 40"}),
			[]string{fmt.Sprintf(over, "data/secret", 50.0, 40.0)}},
		{"legacy", legacyPack.with(pack{"problem.yaml": "type: scoring\n", "data/testdata.yaml": "range: 0 5",
			"data/secret/testdata.yaml": "accept_score: 4\nrange: 0 7", "data/sample/testdata.yaml": "range: 0 1"}),
			[]string{fmt.Sprintf(over, "data", 8.0, 5.0), fmt.Sprintf(over, "data/secret", 8.0, 7.0)}},
	} {
		p, err := openTest(t, tt.pack.folder(t))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, p.Findings); diff != "" {
			t.Errorf("%s: findings (-want +got)\n%s", tt.name, diff)
		}
		p.Close()
	}
}

// TestSmallestOfSums: the smallest of sums can be above 0 although tests fail, so all groups must run.
func TestSmallestOfSums(t *testing.T) {
	kattis := pack{"problem.yaml": "problem_format_version: 2025-09\nname: x\ntype: scoring\n",
		"data/secret/test_group.yaml": "max_score: 50\nscore_aggregation: min",
		"data/secret/a/1.in":          "", "data/secret/a/1.ans": "", "data/secret/a/2.in": "", "data/secret/a/2.ans": "",
		"data/secret/b/1.in": "", "data/secret/b/1.ans": "", "data/secret/b/test_group.yaml": "max_score: 50"}
	for kind, want := range map[string]string{"sum": "PC 25", "min": "WA 0", "pass-fail": "WA 0"} {
		p, err := openTest(t, kattis.with(pack{
			"data/secret/a/test_group.yaml": "max_score: 50\nscore_aggregation: " + kind}).folder(t))
		if err != nil {
			t.Fatal(err)
		}
		progress := p.Scheme.NewProgress(api.StopFirstFailure)
		var tests []api.TestReport
		for _, name := range p.Scheme.Tests() {
			r := api.TestReport{Name: name, Verdict: api.Accepted}
			switch {
			case !progress.Needs(name):
				r.Verdict = api.Skipped
			case name == "secret/a/1":
				r.Verdict = api.WrongAnswer
			}
			if r.Verdict != api.Skipped {
				progress.Record(r)
			}
			tests = append(tests, r)
		}
		r, err := p.Scheme.Result(tests, api.StopFirstFailure, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %g", r.Verdict, *r.Score); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
		if ran := progress.Needs("secret/b/1"); ran != (kind == "sum") {
			t.Errorf("%s: the next group is needed: %t", kind, ran)
		}
	}
}
