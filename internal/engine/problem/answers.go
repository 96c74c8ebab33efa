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

// Submissions to submit-answer problems are outputs. The program printer prints the output of a test; its argument is
// the name of the file.
const (
	answersLanguage = "answers" // language of a Program that is a set of outputs
	printer         = "cat"
)

// outputSuffixes are the suffixes of outputs.
var outputSuffixes = []string{".out", ".ans"}

// outputName returns the name of the output of a test in a submission. All files of a submission are in one folder.
func outputName(test string) string {
	return strings.ReplaceAll(strings.TrimPrefix(test, "secret/"), "/", "-") + outputSuffixes[0]
}

// nameOutputs sets the argument of the printer for each test.
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
			return fmt.Errorf("the outputs of %q and %q have the same name %s; rename one of the tests", other, t.Name, name)
		}
		first[name] = t.Name
		p.Tests[i].Args = []string{name}
	}
	return nil
}

// answers returns the files of a submission by the names of outputs. A file in a folder may have the name of its test,
// with or without secret/. Other files are findings.
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
			p.find("%s is not used: no test has this output, or another file has it already",
				path.Join(program.Name, f.Name))
			continue
		}
		delete(missing, name)
		files = append(files, File{name, f.Path})
	}
	return files
}

// startAnswers returns a job for the outputs of a submission.
func startAnswers(program Program, j api.Job) api.Job {
	j.Command, j.Files = []string{printer}, map[string]api.File{}
	for _, f := range program.Files {
		j.Files[f.Name] = api.File{Part: f.Path}
	}
	return j
}

// shareAnswers gives each test only its own output, because all of them may exceed the maximum number of files. A test
// without an output has an empty one.
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
