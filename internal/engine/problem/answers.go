package problem

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"judged/internal/api"
)

// Submissions of submit-answer problems are outputs. The program that prints the output of a test is printer, with the
// name of the file as its argument.
const (
	answersLanguage = "answers" // of a Program that is a set of outputs
	printer         = "cat"
)

// outputSuffixes end the names of outputs.
var outputSuffixes = []string{".out", ".ans"}

// outputName is the name of the output of a test in a submission, in which all files are next to each other.
func outputName(test string) string {
	return strings.ReplaceAll(strings.TrimPrefix(test, "secret/"), "/", "-") + outputSuffixes[0]
}

// nameOutputs gives each test the argument of the printer.
func (p *Package) nameOutputs(k kind) error {
	if k.interactive || k.multiPass {
		return errors.New("type: submit-answer cannot be combined with interactive and multi-pass; remove one of them")
	}
	first := map[string]string{}
	for i, t := range p.Tests {
		if len(t.Args) > 0 {
			p.unsupported("args of tests in a submit-answer problem, such as those of %s", t.Name)
		}
		name := outputName(t.Name)
		if other, taken := first[name]; taken {
			return fmt.Errorf("the outputs of %q and %q are both called %s; rename one of the tests", other, t.Name, name)
		}
		first[name] = t.Name
		p.Tests[i].Args = []string{name}
	}
	return nil
}

// answers are the files of a submission by the names of outputs. A file below a folder may have the name of its test,
// with or without secret/. Others are findings.
func (p *Package) answers(program Program) []File {
	var files []File
	missing := map[string]bool{}
	for _, t := range p.Tests {
		missing[t.Args[0]] = true
	}
	for _, f := range program.Files {
		ending := path.Ext(f.Name)
		name := outputName(strings.TrimSuffix(f.Name, ending))
		if !missing[name] || !slices.Contains(outputSuffixes, ending) {
			p.find("%s is not used: it is the output of no test, or a second one", path.Join(program.Name, f.Name))
			continue
		}
		delete(missing, name)
		files = append(files, File{name, f.Path})
	}
	return files
}

// startAnswers creates a job from the outputs of a submission.
func startAnswers(program Program, j api.Job) api.Job {
	j.Command, j.Files = []string{printer}, map[string]api.File{}
	for _, f := range program.Files {
		j.Files[f.Name] = api.File{Part: f.Path}
	}
	return j
}

// shareAnswers gives each test its output alone: they may be more than the files of a job. A test without one has an
// empty output.
func shareAnswers(j api.Job) api.Job {
	for i, t := range j.Tests {
		name := t.Args[0]
		if f, ok := j.Files[name]; ok {
			j.Tests[i].Files = map[string]api.File{name: f}
		} else {
			j.Tests[i].Args = []string{os.DevNull}
		}
	}
	j.Files = nil
	return j
}
