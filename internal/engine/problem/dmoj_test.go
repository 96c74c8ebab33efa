package problem

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// archived returns the package with an archive of further files.
func (p pack) archived(t *testing.T, files pack) pack {
	t.Helper()
	b, err := os.ReadFile(files.zip(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	return p.with(pack{"data.zip": string(b)})
}

func TestDMOJ(t *testing.T) {
	list := pack{"init.yml": `archive: data.zip
pretest_test_cases:
- {in: p.in, out: p.out}
test_cases:
- {in: 1.in, out: 1.out, points: 10}
- batched:
  - {in: b/1.in, out: b/1.out}
  - {in: b/2.in, out: near.out}
  points: 40
- batched:
  - {in: b/1.in, out: b/1.out, output_prefix_length: 5}
  dependencies: [1]
  points: 50
checker: {name: floats, args: {precision: 4, error_mode: relative}}
unbuffered: true
wall_time_factor: 2
author: x
`, "near.out": "2", "stray.in": ""}
	files := pack{"p.in": "", "p.out": "", "1.in": "1\r\n2", "1.out": "1\n", "b/1.in": "", "b/1.out": "", "b/2.in": "",
		"extra.in": ""}
	rule := TimeRule{2, 1, time.Second}
	for _, tt := range []struct {
		name string
		pack pack
		want summary
	}{
		{"list", list.archived(t, files), summary{Format: DMOJ, Rule: rule,
			Tests: []string{"1", "2", "batch1.1", "batch1.2", "batch2.1"},
			Groups: []string{`"" sum by_score unbounded [] continue=true`,
				`"case1" min by_score 0 [] continue=false`,
				`"after case1" sum by_score unbounded [case1] continue=true`,
				`"case2" min by_score 10 [] continue=false`,
				`"batch1" min by_score 40 [] continue=false`,
				`"batch2" min by_score 50 [batch1] continue=false`},
			Checker: "dmoj float_relative_tolerance 1e-4",
			Findings: []string{"unsupported: wall_time_factor", `unknown key "author" in init.yml`,
				"1 file of tests with CRLF line endings; judged with LF",
				"data.zip/extra.in is not used", "stray.in is not used"}}},
		{"patterns", pack{"init.yml": "archive: data.zip\npoints: 3\nfile_io: {input: a.in, output: a.out}\n"}.archived(t,
			pack{"2.1.in": "", "2.1.out": "", "2.2.in": "", "2.2.out": "", "1.in": "", "1.out": "", "in.3": "", "out.3": "",
				"10.in": "", "10.out": "", "notes.txt": ""}),
			summary{Format: DMOJ, Rule: rule, Files: "a.in a.out",
				Tests: []string{"1", "batch1.1", "batch1.2", "2", "3"},
				Groups: []string{`"" sum by_score unbounded [] continue=true`, `"case1" min by_score 3 [] continue=false`,
					`"batch1" min by_score 3 [] continue=false`, `"case2" min by_score 3 [] continue=false`,
					`"case3" min by_score 3 [] continue=false`},
				Checker: "dmoj", Findings: []string{"data.zip/notes.txt is not used"}}},
		{"patterns with words", pack{"init.yml": `archive: data.zip
test_cases:
  input_format: ((?P<batch>\w+)-)?(?P<case>\w+)\.i
  output_format: ((?P<batch>\w+)-)?(?P<case>\w+)\.o
  case_points: [0, 5, 7, 9]
`}.archived(t,
			pack{"2.i": "", "2.o": "", "10.i": "", "10.o": "", "b-10.i": "", "b-10.o": "", "b-9.i": "", "b-9.o": "",
				"b-x.i": "", "b-x.o": "", "a.i": "", "a.o": "", "old/1.i": "", "old/1.o": ""}),
			summary{Format: DMOJ, Rule: rule, Tests: []string{"1", "batch1.1", "batch1.2", "batch1.3", "2", "3"},
				Groups: []string{`"" sum by_score unbounded [] continue=true`, `"case1" min by_score 0 [] continue=false`,
					`"after case1" sum by_score unbounded [case1] continue=true`,
					`"batch1" min by_score 5 [] continue=false`, `"case2" min by_score 7 [] continue=false`,
					`"case3" min by_score 9 [] continue=false`},
				Checker: "dmoj", Findings: []string{"data.zip/old/1.i is not used",
					"data.zip/old/1.o is not used"}}},
		{"interactive", pack{"init.yml": "interactive: {files: [talk.cpp, testlib.h], type: testlib}\n" +
			"test_cases: [{in: a.in}, {points: 2}]\n", "a.in": "", "talk.cpp": "", "testlib.h": ""},
			summary{Format: DMOJ, Rule: rule, Tests: []string{"1", "2"}, Interactive: true,
				Groups: []string{`"" sum by_score unbounded [] continue=true`, `"case1" min by_score 1 [] continue=false`,
					`"case2" min by_score 2 [] continue=false`}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openTest(t, tt.pack.folder(t))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if diff := cmp.Diff(tt.want, summarize(p)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if tt.name != "list" {
				return
			}
			var content []string
			for _, test := range p.Tests[1:4] {
				for _, name := range []string{test.Input, test.Answer} {
					b, err := os.ReadFile(name)
					content = append(content, fmt.Sprintf("%s %q %v", filepath.Base(name), b, err))
				}
			}
			want := []string{`1.in "1\n2\n" <nil>`, `1.out "1\n" <nil>`, `1.in "" <nil>`, `1.out "" <nil>`, `2.in "" <nil>`,
				`near.out "2\n" <nil>`}
			if diff := cmp.Diff(want, content); diff != "" {
				t.Errorf("files of tests (-want +got)\n%s", diff)
			}
		})
	}
}

func TestDMOJCheckers(t *testing.T) {
	for settings, want := range map[string]string{
		"standard":          "dmoj",
		"identical":         "exact",
		"{name: rstripped}": "lines",
		"floats":            "dmoj float_tolerance 1e-6",
		"easy":              "dmoj easy",
		"linecount":         "dmoj linecount",
		"sorted":            "dmoj sorted",
		"{name: sorted, args: {split_on: lines}}":      "dmoj sorted",
		"{name: sorted, args: {split_on: whitespace}}": "dmoj unordered",
		"unordered": "dmoj unordered",
		"{name: identical, args: {pe_allowed: false}}": "exact",
		"{name: floats, args: {error_mode: absolute}}": "dmoj float_absolute_tolerance 1e-6",
		"{name: floatsabs, args: {precision: 2}}":      "dmoj float_absolute_tolerance 1e-2",
		"floatsrel":                             "dmoj float_relative_tolerance 1e-6",
		"{name: bridged, args: {files: c.cpp}}": "testlib c.cpp cpp 1",
		"{name: bridged, args: {files: c.cpp, type: testlib}}": "testlib c.cpp cpp 1",
	} {
		p, err := openTest(t, pack{"init.yml": "checker: " + settings + "\ntest_cases: [{in: a, out: a}]\n",
			"a": "", "c.cpp": ""}.folder(t))
		if err != nil {
			t.Errorf("%s: %v", settings, err)
			continue
		}
		if got := summarize(p).Checker; got != want {
			t.Errorf("%s: %q, want %q", settings, got, want)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDMOJLanguages: settings have precedence over the extension of a program.
func TestDMOJLanguages(t *testing.T) {
	type named struct {
		Language string
		Findings []string
	}
	for settings, want := range map[string]named{
		"{files: c.py}":                {"python", nil},
		"{files: c.py, lang: PY2}":     {"python2", nil},
		"{files: c.py, lang: PYPY3}":   {"python", nil},
		"{files: c.py, lang: CPP17}":   {"cpp", nil},
		"{files: c.py, language: C11}": {"c", nil},
		"{files: c.py, lang: BF}": {"python",
			[]string{"unsupported: language BF of c.py; the extension gives its language"}},
	} {
		init := "test_cases: [{in: a, out: a}]\nchecker: {name: bridged, args: " + settings + "}"
		p, err := openTest(t, pack{"init.yml": init, "a": "", "c.py": ""}.folder(t))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, named{p.Checker.Program.Language, p.Findings}); diff != "" {
			t.Errorf("%s (-want +got)\n%s", settings, diff)
		}
	}
}

// TestDMOJPrograms: the arguments of programs, and what is not used of their settings.
func TestDMOJPrograms(t *testing.T) {
	for _, tt := range []struct {
		name, settings string
		want           []string // checker, interactor, arguments of the validator, findings
	}{
		{"coci", "checker: {name: bridged, args: {files: c.cpp, type: coci}}",
			[]string{"bridged {input} {output} {answer}"}},
		{"arguments", "checker: {name: bridged, args: {files: c.cpp, " +
			`args_format_string: '{answer_file} "a b" -{output_file}'}}`,
			[]string{"bridged {answer} a b -{output}"}},
		{"interactor", "interactive: {files: c.cpp}", []string{"interactor bridged {input} {answer}"}},
		{"interactor of testlib", "interactive: {files: c.cpp, type: testlib, feedback: true}",
			[]string{"interactor testlib"}},
		{"flags", "interactive: {files: c.cpp, flags: [-DX], type: coci, frob: 1}",
			[]string{"interactor bridged {input} {answer}", "unsupported: flags of c.cpp; it is compiled without them",
				`unknown key "frob" in the settings of c.cpp`}},
		{"arguments of a checker", "checker: {name: standard, args: {frob: 1, feedback: false}}",
			[]string{"dmoj", `unknown key "frob" in the args of the checker standard`, "c.cpp is not used"}},
		{"validator", "validator: {source: c.cpp, language: CPP17}", []string{"dmoj", "0 0", "1 1", "1 2", "0 3"}},
		{"validator of testlib", "validator: {source: [c.cpp], type: testlib}",
			[]string{"dmoj", "--group st0", "--group st1", "--group st1", "--group st0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const one = "{in: a, out: a}"
			cases := "\ntest_cases: [" + one + ", {batched: [" + one + ", " + one + "]}, " + one + "]\n"
			p, err := openTest(t, pack{"init.yml": tt.settings + cases, "a": "", "c.cpp": ""}.folder(t))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			c, got := p.Checker, []string{}
			role := ""
			if p.Interactor != nil {
				c, role = *p.Interactor, "interactor "
			}
			got = append(got, role+strings.Join(append([]string{c.Kind}, c.Args...), " "))
			for _, v := range p.Validators {
				for _, test := range p.Tests {
					got = append(got, strings.Join(test.ArgsOf(v), " "))
				}
			}
			if diff := cmp.Diff(tt.want, append(got, p.Findings...)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestDMOJPretests: dependencies, and the arguments of a validator, count batches and cases without pretests.
func TestDMOJPretests(t *testing.T) {
	const init = `pretest_test_cases: [{batched: [{in: a, out: a}]}, {batched: [{in: a, out: a}], dependencies: [1]}]
test_cases: [{batched: [{in: a, out: a}]}, {batched: [{in: a, out: a}], dependencies: [1]}]
validator: {source: v.py}
`
	p, err := openTest(t, pack{"init.yml": init, "a": "", "v.py": ""}.folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want := []string{`"" sum by_score unbounded [] continue=true`, `"batch1" min by_score 0 [] continue=false`,
		`"after batch1" sum by_score unbounded [batch1] continue=true`, `"batch2" min by_score 0 [batch1] continue=false`,
		`"after batch2" sum by_score unbounded [batch2] continue=true`, `"batch3" min by_score 1 [] continue=false`,
		`"batch4" min by_score 1 [batch3] continue=false`}
	if diff := cmp.Diff(want, summarize(p).Groups); diff != "" {
		t.Errorf("groups (-want +got)\n%s", diff)
	}
	var args []string
	for _, test := range p.Tests {
		args = append(args, strings.Join(test.ValidatorArgs[""], " "))
	}
	if diff := cmp.Diff([]string{"1 0", "2 1", "1 0", "2 1"}, args); diff != "" {
		t.Errorf("arguments of the validator (-want +got)\n%s", diff)
	}
	refused := strings.ReplaceAll(init, "dependencies: [1]}]\nval", "dependencies: [2]}]\nval")
	const later = "case 4: dependencies: no earlier batch has the number 2"
	if _, err := openTest(t, pack{"init.yml": refused, "a": "", "v.py": ""}.folder(t)); err == nil ||
		!strings.Contains(err.Error(), later) {
		t.Errorf("error %v, want one with %q", err, later)
	}
}

// TestDMOJBinaryCase: test data that a case declares binary would be changed, which is a finding.
func TestDMOJBinaryCase(t *testing.T) {
	for init, want := range map[string][]string{
		"test_cases: [{in: a, out: a, binary_data: true}]": {
			"unsupported: binary_data: true of single cases; set it for all cases"},
		"binary_data: true\ntest_cases: [{in: a, out: a, binary_data: false}]": {
			"unsupported: binary_data: false of single cases; set it for all cases"},
		"test_cases: [{in: a, out: a, binary_data: false}]":                   nil,
		"binary_data: true\ntest_cases: [{in: a, out: a, binary_data: true}]": nil,
	} {
		p, err := openTest(t, pack{"init.yml": init, "a": ""}.folder(t))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, p.Findings); diff != "" {
			t.Errorf("%s: findings (-want +got)\n%s", init, diff)
		}
		p.Close()
	}
}

func TestDMOJRefused(t *testing.T) {
	archived := pack{"init.yml": "archive: data.zip\n"}
	for _, tt := range []struct {
		name string
		pack pack
		want string
	}{
		{"grader", pack{"init.yml": "custom_judge: x.py\n"}, "custom_judge: graders in Python"},
		{"signature", pack{"init.yml": "signature_grader: {entry: x.c, header: x.h}\n"}, "signature_grader: adding code"},
		{"generator", pack{"init.yml": "generator: x.cpp\n"}, "generator: generating tests while judging"},
		{"generator of a case", pack{"init.yml": "test_cases: [{generator_args: [1]}]\n"},
			`case 1: unsupported key "generator_args" in a case`},
		{"archive", archived, `archive "data.zip" is missing`},
		{"link in the archive", archived.archived(t, pack{"1.in": "", "1.out": "->1.in"}), `"1.out" is a link`},
		{"no cases", pack{"init.yml": "points: 1\n"}, "give a list of cases"},
		{"nothing matches", archived.archived(t, pack{"x": ""}),
			"init.yml: no cases; list them in test_cases, or give patterns"},
		{"no file", pack{"init.yml": "test_cases: [{in: a, out: b}]\n", "a": ""}, `output "b" not found next to init.yml`},
		{"no answer", pack{"init.yml": "test_cases: [{in: a}]\n", "a": ""}, "case 1: no output to compare with"},
		{"outside", pack{"init.yml": "test_cases: [{in: ../a, out: ../a}]\n", "a": ""}, `input "../a" not found`},
		{"later batch", pack{"init.yml": "test_cases: [{batched: [{in: a, out: a}], dependencies: [1]}]\n", "a": ""},
			"dependencies: no earlier batch has the number 1"},
		{"batch in a batch", pack{"init.yml": "test_cases: [{batched: [{batched: [{in: a, out: a}]}]}]\n", "a": ""},
			"a batch cannot contain a batch"},
		{"points", pack{"init.yml": "test_cases: [{in: a, out: a, points: .nan}]\n", "a": ""}, "points NaN are not"},
		{"looking ahead", pack{"init.yml": "archive: data.zip\ntest_cases: {input_format: '(?=a)'}\n"}.archived(t,
			pack{"1": ""}),
			`pattern "(?=a)"`},
		{"a number twice", archived.archived(t, pack{"1.in": "", "1.out": "", "1.2.in": "", "1.2.out": ""}),
			`a case and a batch have the same name, as in "1.2.in"`},
		{"points of patterns", pack{"init.yml": "archive: data.zip\ntest_cases: {case_points: [1]}\n"}.archived(t,
			pack{"1.in": "", "1.out": "", "2.in": "", "2.out": ""}), "case_points has 1 numbers for 2"},
		{"only one half", archived.archived(t, pack{"1.in": ""}), `file "1.in" is only the input or output of a case`},
		{"checker", pack{"init.yml": "checker: hard\n"}, `judged has no "hard"; use standard,`},
		{"points of lines", pack{"init.yml": "checker: linematches\n"}, `"linematches" gives each line other points`},
		{"order", pack{"init.yml": "checker: {name: sorted, args: {split_on: words}}\n"}, `split_on "words"; use lines`},
		{"module", pack{"init.yml": "checker: c.py\n", "c.py": ""}, `"c.py" is a module of the judge in Python`},
		{"module that is missing", pack{"init.yml": "checker: c.py\n"}, `"c.py" is a module of the judge in Python`},
		{"type", pack{"init.yml": "checker: {name: bridged, args: {files: c.cpp, type: peg}}\n", "c.cpp": ""}, `type "peg"`},
		{"type of the validator", pack{"init.yml": "validator: {source: c.cpp, type: coci}\n", "c.cpp": ""}, `type "coci"; use`},
		{"arguments", pack{"init.yml": "interactive: {files: c.cpp, args_format_string: \"'a b'\"}\n", "c.cpp": ""},
			`args_format_string "'a b'"; use double quotes alone`},
		{"no number", pack{"init.yml": "archive: data.zip\ntest_cases: {input_format: 'x(?P<case>.*)'}\n"}.archived(t,
			pack{"x": ""}),
			`file "x": the pattern must contain`},
		{"source", pack{"init.yml": "checker: {name: bridged, args: {files: c.cpp, type: testlib}}\n"},
			`files: "c.cpp" is missing`},
		{"precision", pack{"init.yml": "checker: {name: floats, args: {precision: -1}}\n"}, "with precision -1"},
		{"no points", pack{"init.yml": "test_cases: [{in: a, out: a, points: 0}]\n", "a": ""}, "no test gives points"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := openTest(t, tt.pack.folder(t)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestDMOJPartialDependencies: as in DMOJ, a batch that gets a part of its points from the checker has passed for those
// that depend on it.
func TestDMOJPartialDependencies(t *testing.T) {
	p, err := openTest(t, pack{"init.yml": `checker: {name: bridged, args: {files: c.cpp, type: coci}}
test_cases:
- {batched: [{in: a, out: a}, {in: a, out: a}], points: 10}
- {batched: [{in: a, out: a}], points: 20, dependencies: [1]}
`, "a": "", "c.cpp": ""}.folder(t))
	if err != nil {
		t.Fatal(err)
	}
	for first, want := range map[api.Verdict]string{api.Accepted: "AC 30", api.Partial: "PC 25", api.WrongAnswer: "WA 0"} {
		tests := []api.TestReport{{Name: "batch1.1", Verdict: first, Score: new(0.5), Ratio: true},
			{Name: "batch1.2", Verdict: api.Accepted}, {Name: "batch2.1", Verdict: api.Accepted}}
		if first != api.Partial {
			tests[0].Score = nil
		}
		progress := p.Scheme.NewProgress(api.StopFirstFailure)
		for i := range tests {
			if !progress.Needs(tests[i].Name) {
				tests[i].Verdict = api.Skipped
				continue
			}
			progress.Record(tests[i])
		}
		r, err := p.Scheme.Result(tests, api.StopFirstFailure, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %g", r.Verdict, *r.Score); got != want {
			t.Errorf("%s in the first batch: %s, want %s", first, got, want)
		}
	}
}
