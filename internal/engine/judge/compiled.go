package judge

import (
	"fmt"

	"judged/internal/api"
	"judged/internal/engine/jury"
	"judged/internal/engine/languages"
)

// Compile compiles sources of a task with f, the programs of the jury first. The report is not nil where some do not
// compile: CE for those of the contestant, IE for those of the jury. The compiled files are valid until release.
func (t Task) Compile(f func(languages.Source) (languages.Result, error)) (compiled Task, c *api.Compilation,
	failed *api.Report, release func(), err error) {
	var results []languages.Result
	release = func() {
		for _, r := range results {
			r.Close()
		}
	}
	for _, p := range t.juryPrograms() {
		if p.program.Language == "" {
			continue
		}
		r, err := f(languages.Source{Language: p.program.Language, Files: p.program.Files})
		if err != nil {
			return t, nil, nil, release, fmt.Errorf("compile %s: %w", p.name, err)
		}
		results = append(results, r)
		if r.Failure != "" {
			c := &api.Compilation{Program: p.name, Language: p.program.Language, Output: r.Output, Cached: r.Cached}
			failed := t.uncompiled(c)
			failed.Fail(api.JuryFault, "the "+p.name+" does not compile: "+r.Failure)
			return t, c, &failed, release, nil
		}
		p.use(jury.Program{Command: r.Args, Files: r.Files, Args: p.program.Args})
	}
	if t.Language == "" {
		return t, nil, nil, release, nil
	}
	r, err := f(languages.Source{Language: t.Language, Files: t.Files})
	if err != nil {
		return t, nil, nil, release, err
	}
	results = append(results, r)
	c = &api.Compilation{Language: t.Language, Output: r.Output, Cached: r.Cached}
	if r.Failure != "" {
		failed := t.uncompiled(c)
		failed.Verdict, failed.Message = api.CompileError, r.Failure
		failed.JudgementType = failed.Verdict.JudgementType()
		return t, c, &failed, release, nil
	}
	t.Args, t.Files, t.Language, t.Compiled = r.Args, r.Files, "", true
	return t, c, nil, release, nil
}

// juryPart is a program of the jury in a task, and what puts another in its place.
type juryPart struct {
	name    string
	program jury.Program
	use     func(jury.Program)
}

func (t *Task) juryPrograms() []juryPart {
	var parts []juryPart
	if c := t.CheckerProgram; c != nil {
		parts = append(parts, juryPart{CheckerName, c.Program, func(p jury.Program) {
			t.CheckerProgram = &jury.Checker{Protocol: c.Protocol, Program: p}
		}})
	}
	if i := t.Interactor; i != nil {
		parts = append(parts, juryPart{InteractorName, i.Program, func(p jury.Program) {
			compiled := *i
			compiled.Program = p
			t.Interactor = &compiled
		}})
	}
	return parts
}

// uncompiled is the report, but for the verdict, of a task whose sources do not compile.
func (t Task) uncompiled(c *api.Compilation) api.Report {
	report := api.Report{State: api.Done, Compilation: c}
	tests, _ := t.plan()
	for _, test := range tests {
		report.Tests = append(report.Tests, api.TestReport{Name: test.Name, Verdict: api.Skipped})
	}
	return report
}
