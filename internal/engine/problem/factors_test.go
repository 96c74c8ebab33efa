package problem

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// TestFactors checks that a job has the factors of its language, and the errors of invalid files.
func TestFactors(t *testing.T) {
	for _, tt := range []struct {
		text string
		want api.Factors // factors of Python
		err  string
	}{
		{"[factors.java]\ntime_ratio = 2", api.Factors{}, ""},
		{"[factors.python]\ntime_ratio = 2\nmemory_ratio = 1.5", api.Factors{Time: 2, Memory: 1.5}, ""},
		{"[factors.python]\ntime_ratio = 0.01", api.Factors{},
			"judged-problem.toml: factors.python.time_ratio: 0.01 is out of range; send 0.1 to 100"},
		{"[factors.python]\ntime = 2", api.Factors{}, "judged-problem.toml:2: factors.python.time: unknown key; use " +
			"factors.LANGUAGE.time_ratio and memory_ratio"},
		{"[factors", api.Factors{}, "judged-problem.toml: toml: "},
	} {
		p, err := openTest(t, pack{"problem.yaml": "name: x\n", ".timelimit": "1", "data/secret/1.in": "",
			"data/secret/1.ans": "", "judged-problem.toml": tt.text}.folder(t))
		if err != nil || tt.err != "" {
			if tt.err == "" || err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want %q", tt.text, err, tt.err)
			}
			continue
		}
		j, err := p.Judging(api.Job{Language: "python"})
		if err != nil || j.ProblemFactors != tt.want || len(p.Findings) > 0 {
			t.Errorf("%q: factors %v, want %v; findings %q, %v", tt.text, j.ProblemFactors, tt.want, p.Findings, err)
		}
		unknown := func(string) error { return &api.LanguageUnavailableError{Language: "x", Reason: "unknown"} }
		if err := p.CheckLanguages(unknown); err != nil {
			t.Error(err)
		}
		want := []string{`judged-problem.toml: factors of a language that this host does not support: language "x": unknown`}
		if diff := cmp.Diff(want, p.Findings); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
	}
}

// TestUnknownLanguages: a name that no format and no host knows is a finding, because nothing has an effect under it.
func TestUnknownLanguages(t *testing.T) {
	p, err := openTest(t, legacyPack.with(pack{"problem.yaml": "name: x\nlanguages: [pyton, cpp, cobol, zig, own]\n",
		"include/c++/x.h": "", "include/default/x.txt": "", "include/own/x": "", "include/python3/x.py": "",
		"submissions/submissions.yaml": "accepted/a.cpp: {language: javaalgs4}\naccepted: {language: own}\n" +
			"wrong_answer/*: {language: c-clang}"}).folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.CheckLanguages(onlyOwn); err != nil {
		t.Error(err)
	}
	want := []string{`problem.yaml: languages: unknown language "pyton"`,
		`include/c++ is not used: unknown language "c++"`}
	if diff := cmp.Diff(want, p.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// onlyOwn is a host that has a single language, which no format has.
func onlyOwn(id string) error {
	if id == "own" {
		return nil
	}
	return &api.LanguageUnavailableError{Language: id, Reason: "unknown"}
}

// TestUnknownLanguageOfSubmission: a submission in it could not be judged.
func TestUnknownLanguageOfSubmission(t *testing.T) {
	p, err := openTest(t, kattisPack.with(pack{"submissions/submissions.yaml": "accepted/*: {language: pyton}"}).folder(t))
	if err != nil {
		t.Fatal(err)
	}
	const want = `submissions/submissions.yaml: unknown language "pyton"; use one of ada, algol68, `
	if err := p.CheckLanguages(onlyOwn); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
