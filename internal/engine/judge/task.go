package judge

import (
	"fmt"
	"judged/internal/engine/problem"
	"maps"
	"slices"
	"strings"

	"judged/internal/base/job"
	"judged/internal/engine/checker"
	"judged/internal/engine/jury"
	"judged/internal/sandbox"
)

// placeholder is replaced by the program's path in a job's command.
const placeholder = "{program}"

// NewTask resolves the files of a complete job with path, which returns where the content of a file is stored. name is
// the program's file name inside the sandbox.
func NewTask(j job.Job, name string, path func(job.File) (string, error)) (Task, error) {
	t := Task{Language: j.Language, Limits: j.Limits, Repeats: j.Repeats, Stop: j.Stop, Head: j.Head}
	if err := t.setChecker(*j.Checker, path); err != nil {
		return Task{}, err
	}
	if err := t.setInteractor(j.Interactor, path); err != nil {
		return Task{}, err
	}
	if t.Interactor != nil {
		t.Interactor.Transcript = j.Transcript
	}
	if j.Language != "" {
		name = "" // the language names its sources
	}
	if j.Program != (job.File{}) {
		if err := t.addFile(name, j.Program, true, path); err != nil {
			return Task{}, err
		}
	}
	for _, n := range slices.Sorted(maps.Keys(j.Files)) {
		if err := t.addFile(n, j.Files[n], false, path); err != nil {
			return Task{}, err
		}
	}
	for _, arg := range j.Command {
		t.Args = append(t.Args, strings.ReplaceAll(arg, placeholder, "./"+name))
	}
	for _, jt := range j.Tests {
		test := problem.Test{Name: jt.Name}
		if jt.Input != nil {
			p, err := path(*jt.Input)
			if err != nil {
				return Task{}, fmt.Errorf("find input of test %q: %w", jt.Name, err)
			}
			test.Input = p
		}
		if jt.Answer != nil {
			p, err := path(*jt.Answer)
			if err != nil {
				return Task{}, fmt.Errorf("find answer of test %q: %w", jt.Name, err)
			}
			test.Answer = p
		}
		t.Tests = append(t.Tests, test)
	}
	return t, nil
}

// checkerName is what a checker is called in its sandbox.
const checkerName = "checker"

func (t *Task) setChecker(c job.Checker, path func(job.File) (string, error)) (err error) {
	protocol, isProgram := jury.IsChecker(c.Kind)
	if !isProgram {
		t.Checker, err = checker.Parse(c.Kind, c.Args...)
		return err
	}
	p, err := path(*c.Program)
	if err != nil {
		return fmt.Errorf("find program of the checker: %w", err)
	}
	file := sandbox.File{Name: checkerName, Path: p, Exec: true}
	t.CheckerProgram = &jury.Checker{Protocol: protocol, Program: jury.Program{File: file, Args: c.Args}}
	return nil
}

const interactorName = "interactor"

func (t *Task) setInteractor(i *job.Interactor, path func(job.File) (string, error)) error {
	if i == nil {
		return nil
	}
	protocol, known := jury.IsInteractor(i.Kind)
	if !known {
		return fmt.Errorf("unknown interactor %q: use %s", i.Kind, jury.Usage(jury.InteractorProtocols()))
	}
	p, err := path(i.Program)
	if err != nil {
		return fmt.Errorf("find program of the interactor: %w", err)
	}
	file := sandbox.File{Name: interactorName, Path: p, Exec: true}
	t.Interactor = &jury.Interactor{Protocol: protocol, Program: jury.Program{File: file, Args: i.Args}}
	return nil
}

// NeedsJury reports whether Task.Jury must be set.
func (t Task) NeedsJury() bool { return t.CheckerProgram != nil || t.Interactor != nil }

func (t *Task) addFile(name string, f job.File, exec bool, path func(job.File) (string, error)) error {
	p, err := path(f)
	if err != nil {
		return fmt.Errorf("find file %q: %w", name, err)
	}
	t.Files = append(t.Files, sandbox.File{Name: name, Path: p, Exec: exec})
	return nil
}
