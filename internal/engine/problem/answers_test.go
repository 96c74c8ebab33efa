package problem

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// TestSubmitAnswer: a submission is a folder of outputs or a single output. Each test gets only its own output.
func TestSubmitAnswer(t *testing.T) {
	files := pack{"problem.yaml": "problem_format_version: 2025-09\ntype: submit-answer\nname: x\n",
		"data/sample/1.in": "", "data/sample/1.ans": "", "data/secret/1.in": "", "data/secret/1.ans": "",
		"data/secret/g/1.in": "", "data/secret/g/1.ans": "", "include/default/i": "",
		"submissions/accepted/a/1.out": "", "submissions/accepted/a/sample/1.out": "",
		"submissions/accepted/a/secret/g/1.ans": "",
		"submissions/accepted/b/g-1.out":        "", "submissions/accepted/b/1.ans": "", "submissions/accepted/b/1.out": "",
		"submissions/accepted/b/1.txt": "", "submissions/accepted/b/2.out": "", "submissions/wrong_answer/1.out": ""}
	p, err := openTest(t, files.folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got := map[string][]string{}
	for _, s := range p.Submissions {
		j, name, err := p.Start(s.Program, api.Job{})
		if err == nil {
			j, err = p.Judging(j)
		}
		if err != nil || name != "" || j.Files != nil || strings.Join(j.Command, " ") != "cat" {
			t.Errorf("%s: %+v, %q, %v", s.Name, j, name, err)
		}
		for _, test := range j.Tests {
			line := test.Name + ": " + strings.Join(test.Args, " ")
			for name, f := range test.Files {
				line += " " + name + " is " + filepath.Base(filepath.Dir(f.Part)) + "/" + filepath.Base(f.Part)
			}
			got[s.Name] = append(got[s.Name], line)
		}
	}
	want := map[string][]string{
		"submissions/accepted/a": {"sample/1: sample-1.out sample-1.out is sample/1.out", "secret/1: 1.out 1.out is a/1.out",
			"secret/g/1: g-1.out g-1.out is g/1.ans"},
		"submissions/accepted/b": {"sample/1: /dev/null", "secret/1: 1.out 1.out is b/1.ans",
			"secret/g/1: g-1.out g-1.out is b/g-1.out"},
		"submissions/wrong_answer/1.out": {"sample/1: /dev/null", "secret/1: 1.out 1.out is wrong_answer/1.out",
			"secret/g/1: /dev/null"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	var findings []string
	for _, name := range []string{"1.out", "1.txt", "2.out"} {
		findings = append(findings,
			"submissions/accepted/b/"+name+" is not used: no test has this output, or another file has it already")
	}
	if diff := cmp.Diff(findings, p.Findings); diff != "" {
		t.Errorf("findings (-want +got)\n%s", diff)
	}
	stored, err := p.Judging(api.Job{})
	if err != nil || stored.Tests[1].Args[0] != "1.out" || stored.Tests[1].Files != nil {
		t.Errorf("of a stored problem: %+v, %v", stored.Tests[1], err)
	}
}
