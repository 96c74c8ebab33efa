package judge

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"judged/internal/api"
	"judged/internal/engine/checker"
	"judged/internal/engine/jury"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
)

// placeholder is replaced by the program's path in a job's command.
const placeholder = "{program}"

// InvalidError means that no host can judge a job as it is.
type InvalidError struct{ Err error }

func (e *InvalidError) Error() string { return e.Err.Error() }
func (e *InvalidError) Unwrap() error { return e.Err }

// Fault returns the fault of an IE with this cause.
func (e *InvalidError) Fault() api.Fault { return api.ProblemFault }

// NewTask resolves the files of a complete job with path, which returns where the content of a file is stored. name is
// the program's file name inside the sandbox. An error that is not one of path is an InvalidError.
func NewTask(j api.Job, name string, path func(api.File) (string, error)) (Task, error) {
	limits, use := j.LanguageReport()
	t := Task{Language: j.Language, Use: use, CompileOptions: j.CompileOptions, Limits: limits, Repeats: j.Repeats,
		Stop: j.Stop, Head: j.Head,
		Keep: j.Keep, Collect: j.Collect, Passes: j.Passes, InputFile: j.InputFile, OutputFile: j.OutputFile,
		StderrToStdout: j.StderrToStdout, Scheme: j.Scheme}
	if j.Checker == nil {
		return Task{}, &InvalidError{errors.New("the job has no checker")}
	}
	if err := t.setChecker(*j.Checker, path); err != nil {
		return Task{}, err
	}
	if err := t.setInteractor(j.Interactor, path); err != nil {
		return Task{}, err
	}
	if t.Interactor != nil {
		t.Interactor.Transcript = j.Transcript
	}
	if t.Scheme != nil && t.Scheme.Grader != nil {
		g := t.Scheme.Grader
		program, err := juryProgram(GraderName, g.Program, g.Language, g.Files, path)
		if err != nil {
			return Task{}, err
		}
		program.Name, t.Grader = g.Name, &program
	}
	if j.Language != "" {
		name = "" // the language names its sources
	}
	if j.Program != (api.File{}) {
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
	for _, variable := range slices.Sorted(maps.Keys(j.Env)) {
		t.Env = append(t.Env, variable+"="+j.Env[variable])
	}
	for _, jt := range j.Tests {
		limits, _ := j.Scaling.Limits(jt.Limits)
		test := problem.Test{Name: jt.Name, Limits: limits, Args: jt.Args, CheckerArgs: jt.CheckerArgs}
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
		for _, n := range slices.Sorted(maps.Keys(jt.Files)) {
			p, err := path(jt.Files[n])
			if err != nil {
				return Task{}, fmt.Errorf("find file %q of test %q: %w", n, jt.Name, err)
			}
			test.Files = append(test.Files, problem.File{Name: n, Path: p})
		}
		if err := t.setCheckerOf(test, *j.Checker); err != nil {
			return Task{}, err
		}
		t.Tests = append(t.Tests, test)
	}
	return t, t.check()
}

// check returns why a task cannot be judged. Callers refuse such a job; one that was stored by an earlier version may
// come nevertheless.
func (t Task) check() error {
	names := make([]string, len(t.Tests))
	for i, test := range t.Tests {
		names[i] = test.Name
	}
	if err := t.scheme().Check(names); err != nil {
		return &InvalidError{fmt.Errorf("read the groups of the problem: %w", err)}
	}
	return nil
}

// What the programs of the jury are called in their sandboxes and in messages.
const (
	CheckerName    = "checker"
	InteractorName = "interactor"
	GraderName     = "grader"
)

func (t *Task) setChecker(c api.Checker, path func(api.File) (string, error)) (err error) {
	protocol, isProgram := api.CheckerProtocol(c.Kind)
	if !isProgram {
		if t.Checker, err = checker.Parse(c.Kind, c.Args...); err != nil {
			return &InvalidError{err}
		}
		return nil
	}
	program, err := juryProgram(CheckerName, *c.Program, c.Language, c.Files, path)
	if err != nil {
		return err
	}
	program.Name, program.Args = c.Name, c.Args
	t.CheckerProgram = &jury.Checker{Protocol: protocol, Program: program}
	return nil
}

// setCheckerOf sets the comparison of a test with its own arguments, where no program judges.
func (t *Task) setCheckerOf(test problem.Test, c api.Checker) error {
	if len(test.CheckerArgs) == 0 || t.CheckerProgram != nil || t.Interactor != nil {
		return nil
	}
	own, err := checker.Parse(c.Kind, slices.Concat(c.Args, test.CheckerArgs)...)
	if err != nil {
		return &InvalidError{fmt.Errorf("read checker_args of test %q: %w", test.Name, err)}
	}
	if t.Checkers == nil {
		t.Checkers = map[string]checker.Checker{}
	}
	t.Checkers[test.Name] = own
	return nil
}

func (t *Task) setInteractor(i *api.Interactor, path func(api.File) (string, error)) error {
	if i == nil {
		return nil
	}
	protocol, known := api.InteractorProtocol(i.Kind)
	if !known {
		return &InvalidError{fmt.Errorf("unknown interactor %q: use %s", i.Kind,
			api.ProtocolUsage(api.InteractorProtocols()))}
	}
	program, err := juryProgram(InteractorName, i.Program, i.Language, i.Files, path)
	if err != nil {
		return err
	}
	program.Name, program.Args = i.Name, i.Args
	t.Interactor = &jury.Interactor{Protocol: protocol, Program: program, Instances: i.Instances}
	return nil
}

// juryProgram finds the files of a program of the jury. If it has a language, they are its sources.
func juryProgram(name string, program api.File, language string, files map[string]api.File,
	path func(api.File) (string, error)) (jury.Program, error) {
	first := name
	if language != "" {
		first = ""
	}
	var found Task
	err := found.addFile(first, program, true, path)
	for _, n := range slices.Sorted(maps.Keys(files)) {
		err = errors.Join(err, found.addFile(n, files[n], false, path))
	}
	if err != nil {
		return jury.Program{}, fmt.Errorf("find program of the %s: %w", name, err)
	}
	return jury.Program{Language: language, Command: []string{"./" + name}, Files: found.Files}, nil
}

// NeedsJury reports whether Task.Jury must be set.
func (t Task) NeedsJury() bool {
	return t.CheckerProgram != nil || t.Interactor != nil || t.Grader != nil
}

func (t *Task) addFile(name string, f api.File, exec bool, path func(api.File) (string, error)) error {
	p, err := path(f)
	if err != nil {
		return fmt.Errorf("find file %q: %w", name, err)
	}
	t.Files = append(t.Files, sandbox.File{Name: name, Path: p, Exec: exec})
	return nil
}
