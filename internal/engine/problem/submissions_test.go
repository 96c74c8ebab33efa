package problem

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

func TestTags(t *testing.T) {
	folder := []Expectation{{Final: []string{"WA"}}}
	points := []Expectation{{Final: []string{"WA", "PC"}}, {Score: &[2]float64{12.5, 12.5}}}
	for _, tt := range []struct {
		source string
		want   []Expectation
	}{
		{"", folder},
		{"// @EXPECTED_RESULTS@: CORRECT", []Expectation{{Final: []string{"AC"}}}},
		{"/* @EXPECTED_RESULTS@: run-error, TIMELIMIT */", []Expectation{{Final: []string{"RTE", "TLE"}}}},
		{"# @expected_results@: correct\n", []Expectation{{Final: []string{"AC"}}}},
		{"# @Expected_Score@: 12.5\n", points},
		{"# @EXPECTED_RESULTS@: OUTPUT_LIMIT\n", []Expectation{{Final: []string{"WA"}}}},
		{"# @EXPECTED_RESULTS@: COMPILER_ERROR\n", []Expectation{{Final: []string{"CE"}}}},
		{"<!-- @EXPECTED_RESULTS@: TIMELIMIT -->", []Expectation{{Final: []string{"TLE"}}}},
		{"# @EXPECTED_RESULTS@: FAST\n", folder},
		{"# @EXPECTED_SCORE@: 12.5\n", points},
		{"/*@EXPECTED_SCORE@: 12.5*/", points},
		{"# @EXPECTED_SCORE@: 0\n", []Expectation{{Final: []string{"WA"}}, {Score: &[2]float64{}}}},
		{"# @EXPECTED_SCORE@: -inf\n", folder},
		{"# @EXPECTED_SCORE@: CORRECT\n", []Expectation{{Final: []string{"AC"}}}},
		{"# @EXPECTED_SCORE@: 12.5\n# @EXPECTED_RESULTS@: WRONG-ANSWER\n", points},
	} {
		p, err := openTest(t, legacyPack.with(pack{"submissions/wrong_answer/w.py": tt.source}).folder(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Submissions {
			if s.Name != "submissions/wrong_answer/w.py" {
				continue
			}
			if diff := cmp.Diff(tt.want, s.Expected); diff != "" {
				t.Errorf("%q (-want +got)\n%s", tt.source, diff)
			}
		}
	}
}

func TestDifference(t *testing.T) {
	score := func(n float64) *float64 { return &n }
	between := func(low, high float64) *[2]float64 { return &[2]float64{low, high} }
	report := api.Report{Verdict: api.Partial, Score: score(70),
		Tests: []api.TestReport{
			{Name: "secret/1/a", Verdict: api.Accepted, Score: score(30)},
			{Name: "secret/2/b", Verdict: api.TimeLimit, Score: score(0)},
			{Name: "secret/2/c", Verdict: api.Skipped},
			{Name: "secret/3", Verdict: api.WrongAnswer, Checker: &api.CheckReport{Message: "line 3 differs"}}},
		Groups: []api.GroupReport{{Name: "secret", Score: score(70)}, {Name: "secret/1", Score: score(30)},
			{Name: "secret/2", Score: score(40)}}}
	for _, tt := range []struct {
		name string
		e    Expectation
		want []string
	}{
		{"any", Expectation{}, nil},
		{"final", Expectation{Final: []string{"PC"}}, nil},
		{"another final", Expectation{Final: []string{"AC", "WA"}}, []string{"verdict PC, expected AC or WA"}},
		{"permitted", Expectation{Tests: "secret/1", Permitted: []string{"AC"}}, nil},
		{"not permitted", Expectation{Tests: "secret/2", Permitted: []string{"AC"}},
			[]string{"test secret/2/b is TLE, permitted AC"}},
		{"required", Expectation{Tests: "secret/*", Required: []string{"TLE"}}, nil},
		{"not there", Expectation{Tests: "secret/1", Required: []string{"WA", "TLE"}},
			[]string{"no test in secret/1 is WA or TLE"}},
		{"message", Expectation{Message: "line 3"}, nil},
		{"another message", Expectation{Tests: "secret/1", Message: "line 3"},
			[]string{`no message of the checker in secret/1 has "line 3"`}},
		{"score", Expectation{Score: between(70, 70)}, nil},
		{"score out of range", Expectation{Score: between(71, 100)}, []string{"score 70, expected 71 to 100"}},
		{"score of a group alone", Expectation{Tests: "secret", Score: between(70, 70)}, nil},
		{"scores of groups", Expectation{Tests: "secret/{1,2}", Score: between(30, 30)},
			[]string{"score in secret/2 40, expected 30 to 30"}},
		{"score of a test", Expectation{Tests: "secret/1/*", Score: between(31, 32)},
			[]string{"score in secret/1/a 30, expected 31 to 32"}},
		{"no score", Expectation{Tests: "secret/3", Score: between(0, 1)},
			[]string{"no score in secret/3, expected 0 to 1"}},
		{"nothing matches", Expectation{Tests: "sample", Score: between(0, 1)},
			[]string{"no score in sample, expected 0 to 1"}},
	} {
		if diff := cmp.Diff(tt.want, Submission{Expected: []Expectation{tt.e}}.Difference(report)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

// TestExpectationsNeedTests: an expectation about tests that do not exist, or of which none was run, is not met.
func TestExpectationsNeedTests(t *testing.T) {
	permitted := Submission{Expected: []Expectation{{Tests: "secret/3", Permitted: []string{"AC"}}}}
	report := func(name string, v api.Verdict) api.Report {
		return api.Report{Verdict: api.Accepted, Tests: []api.TestReport{{Name: name, Verdict: v}}}
	}
	for _, tt := range []struct {
		name string
		r    api.Report
		want []string
	}{
		{"as expected", report("secret/3", api.Accepted), nil},
		{"left out by another test", report("secret/3", api.Skipped), []string{"no test in secret/3 was run"}},
		{"another test", report("secret/1", api.Accepted), []string{"there is no test in secret/3"}},
		{"no test", api.Report{Verdict: api.Accepted}, []string{"there is no test in secret/3"}},
	} {
		if diff := cmp.Diff(tt.want, permitted.Difference(tt.r)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

// TestSubmissionsYAML checks folders, languages, entry points and expectations in submissions.yaml.
func TestSubmissionsYAML(t *testing.T) {
	base := pack{"problem.yaml": "problem_format_version: 2025-09\nname: x\n", "data/secret/1.in": "",
		"data/secret/1.ans": "", "submissions/accepted/a/start.py": "", "submissions/accepted/a/helper.py": "",
		"submissions/mixed/m.py": "", "submissions/odd/o.py": ""}
	accepted := []Expectation{{Permitted: []string{"AC"}}}
	const still = " bounds the time limit although a glob sets use_for_time_limit: false, by another glob or its folder; " +
		"set it for that one, too"
	const unknown = "submissions/odd: unknown folder; its submissions are run but have no expected result"
	type result struct {
		Language, Entry string
		Expected        []Expectation
		Lower, Upper    bool
	}
	for _, tt := range []struct {
		name, text string
		want       [3]result
		findings   []string
	}{
		{"nothing", "", [3]result{{"python", "", accepted, true, false}, {"python", "", nil, false, false},
			{"python", "", nil, false, false}},
			[]string{strings.Replace(unknown, "odd", "mixed", 1), unknown}},
		{"declarations", "accepted/a: {entrypoint: start.py, model_solution: true, authors: [A, {name: B}], " +
			"language: python3}\nmixed/m.py: {required: [TLE], secret/1: {permitted: [TLE]}}\nodd: {}\n",
			[3]result{{"python", "start.py", append(accepted, Expectation{}), true, false},
				{"python", "", []Expectation{{Required: []string{"TLE"}},
					{Tests: "secret/1", Permitted: []string{"TLE"}}}, false, true},
				{"python", "", []Expectation{{}}, false, false}},
			[]string{"submissions/odd/o.py has no expected result; it is run, and any verdict is as expected"}},
		{"time limit", "accepted: {use_for_time_limit: false}\nmixed: {permitted: [AC, WA]}\n" +
			"odd: {permitted: [WA], use_for_time_limit: upper}\n", [3]result{{"python", "", accepted, false, false},
			{"python", "", []Expectation{{Permitted: []string{"AC", "WA"}}}, true, false},
			{"python", "", []Expectation{{Permitted: []string{"WA"}}}, false, true}}, nil},
		{"time limit by globs", "accepted/a: {use_for_time_limit: false}\n" +
			"'mixed/*': {permitted: [AC], use_for_time_limit: false}\nmixed/m.py: {required: [TLE]}\n" +
			"odd/o.py: {use_for_time_limit: lower}\n'odd/{o,p}.py': {use_for_time_limit: false}\n",
			[3]result{{"python", "", append(accepted, Expectation{}), true, false},
				{"python", "", []Expectation{{Permitted: []string{"AC"}}, {Required: []string{"TLE"}}}, false, true},
				{"python", "", []Expectation{{}, {}}, true, false}},
			[]string{"submissions/accepted/a" + still, "submissions/mixed/m.py" + still, "submissions/odd/o.py" + still,
				unknown}},
		{"another meaning of a folder", "accepted: {permitted: [AC, TLE]}\n'*/{m,o}.py': {required: [AC]}\n",
			[3]result{{"python", "", []Expectation{{Permitted: []string{"AC", "TLE"}}}, false, false},
				{"python", "", []Expectation{{Required: []string{"AC"}}}, false, false},
				{"python", "", []Expectation{{Required: []string{"AC"}}}, false, false}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, base.with(pack{"submissions/submissions.yaml": tt.text}).folder(t))
			if err != nil {
				t.Fatal(err)
			}
			var got [3]result
			for i, s := range p.Submissions {
				got[i] = result{s.Language, s.Entry, s.Expected, s.Lower, s.Upper}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.findings, p.Findings); diff != "" {
				t.Errorf("findings (-want +got)\n%s", diff)
			}
		})
	}
	for text, want := range map[string]string{
		"mixed: {permitted: [ACC]}":                       `permitted: "ACC" is not a verdict`,
		"mixed/*: {secret: {required: [wa]}}":             `required: "wa" is not a verdict`,
		"mixed/*: {use_for_time_limit: both}":             `use_for_time_limit: "both" is unknown`,
		"mixed/*: {model_solution: [a]}":                  "model_solution",
		"mixed/*: {secret: {entrypoint: main.py}}":        "secret: unknown keys",
		"accepted/a: {secret/1: {score: [1, 2, 3]}}":      "score",
		"accepted/a: {score: [2, 1]}":                     "accepted/a: score: 2 to 1 is not a range",
		"accepted/a: {permited: [AC]}":                    "accepted/a: permited: unknown key; use permitted",
		"mixed: {secret/1: {permitted: {AC: true}}}":      "permitted",
		"mixed/*: {secret/1: {use_for_time_limit: both}}": `use_for_time_limit: "both" is unknown`,
	} {
		_, err := openTest(t, base.with(pack{"submissions/submissions.yaml": text}).folder(t))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

// TestEntry: an entry point is a file or, in Java and Kotlin, the class of a file with the same name.
func TestEntry(t *testing.T) {
	for _, tt := range []struct {
		language, entry string
		files           []string
		want            string // "" means an error
	}{
		{"python", "start.py", []string{"main.py", "start.py"}, "start.py"},
		{"python", "start", []string{"main.py", "start.py"}, ""},
		{"cpp", "b.cpp", []string{"a.cpp", "b.cpp"}, "b.cpp"},
		{"java", "org.example.Start", []string{"Main.java", "Start.java"}, "Start.java"},
		{"kotlin", "StartKt", []string{"main.kt", "start.kt"}, "start.kt"},
		{"kotlin", "Start", []string{"main.kt", "Start.kt"}, "Start.kt"},
	} {
		p := Program{Name: "p", Language: tt.language, Entry: tt.entry}
		for _, name := range tt.files {
			p.Files = append(p.Files, File{Name: name})
		}
		got := ""
		if f, err := p.entry(); err == nil {
			got = f.Name
		}
		if got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.entry, tt.files, got, tt.want)
		}
	}
}
