package main

import (
	"context"
	"fmt"
	"path"
	"slices"

	"judged/internal/api"
	"judged/internal/engine/problem"
)

// juryDifferences says what cannot be checked, and how the jury's own programs differ from what the package expects: input
// validators at its inputs, and the checker at outputs of which the verdict is known. With an error it says what was found
// before. The programs run on the housekeeping CPUs while the slots judge.
func (v *verifier) juryDifferences(ctx context.Context) ([]string, error) {
	all := slices.Clone(v.pkg.Unchecked)
	for _, check := range []func(context.Context) ([]string, error){v.validators, v.outputs, v.checkerTests} {
		differences, err := check(ctx)
		if all = append(all, differences...); err != nil {
			return all, err
		}
	}
	return all, nil
}

// validators runs the input validators on all inputs and evaluates their exit status.
func (v *verifier) validators(ctx context.Context) ([]string, error) {
	var differences []string
	rejected := map[string]bool{}
	for _, x := range v.pkg.Validators {
		exits, err := v.exits(ctx, x.Program, validatorTests(v.pkg, x))
		if notHere(err) {
			differences = append(differences, "input validator not run: "+err.Error())
			continue
		}
		if err != nil {
			return differences, err
		}
		inputs, rejects := validated(v.pkg, x, exits)
		differences = append(differences, inputs...)
		for name := range rejects {
			rejected[name] = true
		}
	}
	for _, t := range v.pkg.InvalidInputs {
		if !rejected[t.Name] {
			differences = append(differences, fmt.Sprintf("no input validator rejects %s", t.Name))
		}
	}
	return differences, nil
}

// validated compares a validator's exit status with the expected one. It returns the differences and the invalid inputs
// that the validator rejects. An input at which it did not exit is never rejected.
func validated(pkg *problem.Package, x problem.Validator, exits map[string]int) (differences []string,
	rejects map[string]bool) {
	rejects = map[string]bool{}
	named := func(name string) func(problem.Test) bool { return func(t problem.Test) bool { return t.Name == name } }
	for _, t := range inputsFor(pkg, x) {
		invalid, own := slices.ContainsFunc(pkg.InvalidInputs, named(t.Name)), slices.ContainsFunc(x.Invalid, named(t.Name))
		switch status, exited := exits[t.Name]; {
		case !exited:
			differences = append(differences, fmt.Sprintf("%s did not exit at the input of %s", x.Program.Name, t.Name))
		case own && status == x.OK:
			differences = append(differences, fmt.Sprintf("%s accepts its invalid test %s", x.Program.Name, t.Name))
		case invalid && status != x.OK:
			rejects[t.Name] = true
		case invalid, own:
		case status != x.OK:
			differences = append(differences, fmt.Sprintf("%s rejects the input of %s", x.Program.Name, t.Name))
		}
	}
	return differences, rejects
}

// inputsFor are the tests whose inputs a validator reads: those of submissions, those of outputs alone, and its own.
func inputsFor(pkg *problem.Package, x problem.Validator) []problem.Test {
	all, known := slices.Clone(pkg.Tests), map[string]bool{}
	for _, t := range all {
		known[t.Name] = true
	}
	for _, o := range pkg.Outputs {
		if !known[o.Test.Name] {
			all = append(all, o.Test)
		}
	}
	return slices.Concat(all, pkg.InvalidInputs, x.Valid, x.Invalid)
}

// validatorTests are the inputs that a validator reads, as tests of a job.
func validatorTests(pkg *problem.Package, x problem.Validator) (tests []api.Test) {
	for _, t := range inputsFor(pkg, x) {
		j := t.Job()
		j.Args, j.CheckerArgs, j.Answer, j.Limits = t.ArgsOf(x), nil, nil, api.Limits{}
		tests = append(tests, j)
	}
	return tests
}

// exits runs a program of the jury on tests and returns its exit status by test. Tests at which it did not exit are
// missing.
func (v *verifier) exits(ctx context.Context, p problem.Program, tests []api.Test) (map[string]int, error) {
	l := &localJob{program: p.Name}
	var err error
	if l.job, l.name, err = v.pkg.Start(p, api.Job{}); err != nil {
		return nil, err
	}
	l.job.Limits = api.Limits{CPUTimeMS: v.c.Limits.Jury.CPUTime.Milliseconds()}
	l.job.Tests, l.job.Stop = tests, api.StopNever
	report, err := v.judge(ctx, v.eng.JudgeAside, l, func(api.TestReport) {})
	if err != nil {
		return nil, err
	}
	if report.Verdict == api.CompileError {
		return nil, &problem.ProgramError{Name: p.Name, Reason: "does not compile: " + problem.CompilerSaid(report)}
	}
	exits := map[string]int{}
	for _, t := range report.Tests {
		if t.Exit != nil && t.Exit.Code != nil {
			exits[t.Name] = *t.Exit.Code
		}
	}
	return exits, nil
}

// checkerTests runs the checker on its own tests and compares its exit status with the expected one.
func (v *verifier) checkerTests(ctx context.Context) ([]string, error) {
	if len(v.pkg.CheckerTests) == 0 {
		return nil, nil
	}
	var tests []api.Test
	for _, t := range v.pkg.CheckerTests {
		tests = append(tests, api.Test{Name: t.Name, Args: []string{"input", "output", "answer"},
			Files: map[string]api.File{"input": {Part: t.Input}, "output": {Part: t.Output}, "answer": {Part: t.Answer}}})
	}
	exits, err := v.exits(ctx, *v.pkg.Checker.Program, tests)
	if notHere(err) {
		return []string{"checker not tested: " + err.Error()}, nil
	}
	return checkerDifferences(v.pkg, exits), err
}

// checkerDifferences compares the exit statuses of a checker with the expected ones.
func checkerDifferences(pkg *problem.Package, exits map[string]int) (differences []string) {
	for _, t := range pkg.CheckerTests {
		switch status, exited := exits[t.Name]; {
		case !exited:
			differences = append(differences, fmt.Sprintf("%s did not exit at its test %s", pkg.Checker.Program.Name,
				t.Name))
		case status != t.Exit:
			differences = append(differences, fmt.Sprintf("%s exits with status %d at its test %s, expected %d (%s)",
				pkg.Checker.Program.Name, status, t.Name, t.Exit, t.Verdict))
		}
	}
	return differences
}

// outputs runs the checker on the package's sample outputs and compares verdicts.
func (v *verifier) outputs(ctx context.Context) ([]string, error) {
	var differences []string
	for _, o := range v.pkg.Outputs {
		j, err := v.pkg.Judging(api.Job{})
		if err != nil {
			return differences, &usageError{err}
		}
		j.Scheme = nil
		j.Command, j.Files = []string{"cat", "output"}, map[string]api.File{"output": {Part: o.Path}}
		test := o.Test.Job()
		test.Args, test.Files = nil, nil
		j.Tests = []api.Test{test}
		report, err := v.judge(ctx, v.eng.JudgeAside, &localJob{program: o.Test.Name, job: j}, func(api.TestReport) {})
		if err != nil {
			return differences, err
		}
		if d := outputDifference(o, report); d != "" {
			differences = append(differences, d)
		}
	}
	return differences, nil
}

// outputDifference returns how a report differs from the expected verdict of an output, or "". An output that the
// checker has not read, for example because it is too large, does not count as rejected.
func outputDifference(o problem.Output, r api.Report) string {
	if r.Verdict == api.InternalError {
		return fmt.Sprintf("checker at %s: %s", o.Test.Name, r.Message)
	}
	if len(r.Tests) != 1 || r.Tests[0].Checker == nil {
		return fmt.Sprintf("the checker did not judge %s: its verdict is %s", o.Test.Name, r.Verdict)
	}
	said := r.Tests[0].Checker.Verdict
	withoutPoints := said == api.WrongAnswer && r.Tests[0].Score != nil // accepted all the same
	switch valid := said == api.Accepted || said == api.Partial || withoutPoints; {
	case valid == o.Valid:
		return ""
	case withoutPoints:
		return fmt.Sprintf("the checker accepts %s%s with 0 points", o.Test.Name, path.Ext(o.Path))
	}
	return fmt.Sprintf("the checker gives %s for %s%s", said, o.Test.Name, path.Ext(o.Path))
}
