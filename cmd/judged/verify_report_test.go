package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine/problem"
)

// TestVerifyNeedsEvidence: a package without judged submissions is not as expected.
func TestVerifyNeedsEvidence(t *testing.T) {
	accepted := solution{Name: "a", judged: true, Verdict: api.Accepted, expects: true}
	wrong := solution{Name: "w", judged: true, Verdict: api.WrongAnswer}
	differs := solution{Name: "d", judged: true, Verdict: api.Accepted, Differences: []string{"slow"}}
	for _, tt := range []struct {
		name        string
		submissions []solution
		validators  []string
		want        bool
	}{
		{"all is as expected", []solution{accepted, wrong}, nil, true},
		{"a partial score", []solution{{Name: "p", judged: true, Verdict: api.Partial, expects: true}},
			nil, true},
		{"nothing is expected", []solution{{Name: "n", judged: true, Verdict: api.Accepted},
			{Name: "not judged", expects: true}}, nil, false},
		{"no submission", nil, nil, false},
		{"none was judged", []solution{{Name: "x"}, {Name: "y", Verdict: api.Accepted}}, nil, false},
		{"none is accepted", []solution{wrong}, nil, false},
		{"one differs", []solution{accepted, differs}, nil, false},
		{"a validator differs", []solution{accepted}, []string{"rejects"}, false},
	} {
		r := verification{Submissions: tt.submissions, Validators: tt.validators}
		if got := r.isAsExpected(); got != tt.want || !got && len(r.Validators) == 0 && tt.name != "one differs" {
			t.Errorf("%s: %t, %q", tt.name, got, r.Validators)
		}
	}
}

// TestVerifyCounts: submissions that are not judged are counted, and fail the verification only with --strict.
func TestVerifyCounts(t *testing.T) {
	accepted := solution{Name: "a", judged: true, Verdict: api.Accepted, expects: true}
	absent := solution{Name: "b.rb", NotJudged: `language "ruby": ruby is not installed`}
	const all = 3 // includes a README
	r := verification{Submissions: []solution{accepted, absent}, Findings: []string{"README is no program"}}
	r.count(all)
	want := []string{"README is no program", `b.rb is not judged: language "ruby": ruby is not installed`}
	if diff := cmp.Diff(want, r.Findings); diff != "" || r.Judged != 1 || r.NotJudged != 2 {
		t.Errorf("%d judged, %d not judged; findings (-want +got)\n%s", r.Judged, r.NotJudged, diff)
	}
	for _, tt := range []struct {
		strict   bool
		findings []string
		want     string
	}{
		{false, want, "all is as expected"},
		{true, nil, "all is as expected"},
		{true, want, "there are findings, which --strict does not allow"},
	} {
		r := verification{Submissions: []solution{accepted}, Findings: tt.findings, strict: tt.strict}
		r.OK = r.isOK()
		if got := r.summary(); got != tt.want {
			t.Errorf("strict %t, findings %q: %q, want %q", tt.strict, tt.findings, got, tt.want)
		}
	}
}

// TestValidatedNeedsExits: an input that a validator did not read to its end is neither valid nor rejected. A testlib
// validator accepts with status 0.
func TestValidatedNeedsExits(t *testing.T) {
	pkg := &problem.Package{Tests: []problem.Test{{Name: "1"}, {Name: "2"}},
		InvalidInputs: []problem.Test{{Name: "bad"}, {Name: "crash"}}}
	v := problem.Validator{Program: problem.Program{Name: "v"}, OK: 0, Valid: []problem.Test{{Name: "3"}, {Name: "4"}},
		Invalid: []problem.Test{{Name: "5"}, {Name: "6"}}}
	got, rejects := validated(pkg, v, map[string]int{"1": 0, "2": 3, "bad": 3, "4": 1, "5": 1, "6": 0})
	want := []string{"v rejects the input of 2", "v did not exit at the input of crash", "v did not exit at the input of 3",
		"v rejects the input of 4", "v accepts its invalid test 6"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !rejects["bad"] || rejects["crash"] {
		t.Errorf("rejects %v", rejects)
	}
	if got, _ := validated(pkg, v, nil); len(got) != 8 {
		t.Errorf("without any exit: %q", got)
	}
}

// TestNoValidators: a package of ICPC or Kattis without an input validator, which its format requires, is a finding.
func TestNoValidators(t *testing.T) {
	for _, tt := range []struct {
		pkg  problem.Package
		want string
	}{
		{problem.Package{Format: problem.Legacy}, "no input validator has read the inputs; add one to input_validators"},
		{problem.Package{Format: problem.Kattis, Validators: []problem.Validator{{}}}, ""},
		{problem.Package{Format: problem.CMS}, ""},
	} {
		v := &verifier{pkg: &tt.pkg}
		if diff := cmp.Diff(tt.want, strings.Join(v.findings(), "\n")); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.pkg.Format, diff)
		}
	}
}

// TestInputsOfOutputs: the inputs of data/valid_output and data/invalid_output must be valid. An output of a test that
// submissions have, too, is no further input.
func TestInputsOfOutputs(t *testing.T) {
	pkg := &problem.Package{Tests: []problem.Test{{Name: "sample/1"}}, Outputs: []problem.Output{
		{Test: problem.Test{Name: "sample/1"}, Valid: true},
		{Test: problem.Test{Name: "invalid_output/1", ValidatorArgs: map[string][]string{"": {"x"}}}}}}
	v := problem.Validator{Program: problem.Program{Name: "v"}, OK: 42}
	want := []api.Test{{Name: "sample/1"}, {Name: "invalid_output/1", Args: []string{"x"}}}
	if diff := cmp.Diff(want, validatorTests(pkg, v)); diff != "" {
		t.Errorf("inputs (-want +got)\n%s", diff)
	}
	got, _ := validated(pkg, v, map[string]int{"sample/1": 42, "invalid_output/1": 43})
	if diff := cmp.Diff([]string{"v rejects the input of invalid_output/1"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestCheckerDifferences: a checker must exit, with the status of the expected verdict.
func TestCheckerDifferences(t *testing.T) {
	pkg := &problem.Package{Checker: problem.Checker{Program: &problem.Program{Name: "c"}}}
	for i, name := range []string{"1", "2", "3", "4"} {
		one := problem.CheckerTest{Test: problem.Test{Name: name}, Exit: i, Verdict: "v"}
		pkg.CheckerTests = append(pkg.CheckerTests, one)
	}
	want := []string{"c exits with status 0 at its test 2, expected 1 (v)", "c did not exit at its test 4"}
	if diff := cmp.Diff(want, checkerDifferences(pkg, map[string]int{"1": 0, "2": 0, "3": 2})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestOutputsNeedTheChecker: an output that the checker has not read is not rejected.
func TestOutputsNeedTheChecker(t *testing.T) {
	report := func(v api.Verdict, said ...api.Verdict) api.Report {
		test := api.TestReport{Name: "o", Verdict: v}
		for _, s := range said {
			test.Checker = &api.CheckReport{Verdict: s}
		}
		return api.Report{Verdict: v, Message: "broken", Tests: []api.TestReport{test}}
	}
	without := report("WA", "WA")
	without.Tests[0].Score = new(0.0)
	for _, tt := range []struct {
		name  string
		valid bool
		r     api.Report
		want  string
	}{
		{"valid and accepted without points", true, without, ""},
		{"invalid and accepted without points", false, without, "the checker accepts o with 0 points"},
		{"valid and accepted", true, report("AC", "AC"), ""},
		{"valid and partial", true, report("PC", "PC"), ""},
		{"valid and rejected", true, report("WA", "WA"), "the checker gives WA for o"},
		{"invalid and rejected", false, report("WA", "WA"), ""},
		{"invalid and accepted", false, report("AC", "AC"), "the checker gives AC for o"},
		{"invalid and too large", false, report("OLE"), "the checker did not judge o: its verdict is OLE"},
		{"valid and not run", true, report("SK"), "the checker did not judge o: its verdict is SK"},
		{"accepted without the checker", true, report("AC"), "the checker did not judge o: its verdict is AC"},
		{"no test", false, api.Report{Verdict: "AC"}, "the checker did not judge o: its verdict is AC"},
		{"the checker fails", false, report("IE", "IE"), "checker at o: broken"},
	} {
		o := problem.Output{Test: problem.Test{Name: "o"}, Valid: tt.valid}
		if got := outputDifference(o, tt.r); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestLimitNamesWhatIsMissing: a limit derived from only some of the submissions that must be within it is not a success.
func TestLimitNamesWhatIsMissing(t *testing.T) {
	all := []solution{{Name: "fast", Verdict: api.Accepted, judged: true, lower: true, CPUTime: time.Second},
		{Name: "slow", Verdict: api.InternalError, judged: true, lower: true,
			Differences: []string{"internal error: noise"}}}
	p := proposal{TimeLimit: 2 * time.Second, Slowest: all[0], Differences: differences(all)}
	if !slices.Equal(p.Differences, []string{"slow: internal error: noise"}) {
		t.Errorf("differences %q", p.Differences)
	}
	var b bytes.Buffer
	if err := p.print(&b); err != nil || !strings.Contains(b.String(),
		"not as expected: slow: internal error: noise\n") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestFindingsOfInvalidPackages: the error of a package does not hide what else is to be corrected in it.
func TestFindingsOfInvalidPackages(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"problem.yaml": "name: Sum\nfrob: 1\n", "data/secret/1.in": ""} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"verify", dir}, {"limit", dir}, {"run", "--package", dir, "true"}} {
		got := inProcess(t, args...)
		want := ended{exitUsage, "", "package: unknown key \"frob\" in problem.yaml\njudged: read package \"" + dir +
			"\": input \"data/secret/1.in\" has no answer; add data/secret/1.ans\n"}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(ended{})); diff != "" {
			t.Errorf("%q (-want +got)\n%s", args, diff)
		}
	}
}

// TestSlowestWithoutLanguage: a script that is executed as it is has no language.
func TestSlowestWithoutLanguage(t *testing.T) {
	const limit = time.Second
	r := verification{TimeLimit: limit, rule: problem.TimeRule{Accepted: 2, Rejected: 1.5}, Submissions: []solution{{
		Name: "submissions/accepted/run", Verdict: api.Accepted, CPUTime: limit / 4, lower: true, judged: true}}}
	var b bytes.Buffer
	if err := r.print(&b); err != nil {
		t.Fatal(err)
	}
	const want = "slowest accepted without a language: 250.0 ms, the limit is 4.00 times that, required 2\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("output\n%swant %q in it", b.String(), want)
	}
}
