package problem

import (
	"fmt"
	"slices"
	"strings"

	"judged/internal/base/job"
)

// Judging is a job with what the package says: tests, limits that j leaves open, checker and interactor. Files are parts
// that name paths of this host.
func (p *Package) Judging(j job.Job) (job.Job, error) {
	if p.MultiPass {
		return j, fmt.Errorf("problem %q is multi-pass, which judged does not judge yet", p.Name)
	}
	for _, t := range p.Tests {
		j.Tests = append(j.Tests, job.Test{Name: t.Name, Input: &job.File{Part: t.Input},
			Answer: &job.File{Part: t.Answer}})
	}
	if j.Language != "" && len(p.Languages) > 0 && !slices.Contains(p.Languages, j.Language) {
		return j, fmt.Errorf("problem %q does not allow the language %q; it allows %s", p.Name, j.Language,
			strings.Join(p.Languages, ", "))
	}
	j = p.include(j)
	j.Limits = j.Limits.Or(job.Limits{CPUTimeMS: p.Limits.Time.Milliseconds(), Memory: p.Limits.Memory,
		Output: p.Limits.Output})
	j.InputFile, j.OutputFile, j.Scheme = p.InputFile, p.OutputFile, (*job.Scheme)(&p.Scheme)
	j.Checker, j.Interactor = &job.Checker{Kind: "tokens"}, nil
	if p.Checker.Kind != "" {
		j.Checker = &job.Checker{Kind: p.Checker.Kind, Args: p.Checker.Args}
	}
	if p.Checker.Program != nil {
		x, err := p.Checker.Program.start()
		if err != nil {
			return j, fmt.Errorf("use checker: %w", err)
		}
		j.Checker.Program, j.Checker.Language, j.Checker.Files = &x.program, x.language, x.files
	}
	if p.Interactor != nil {
		x, err := p.Interactor.Program.start()
		if err != nil {
			return j, fmt.Errorf("use interactor: %w", err)
		}
		j.Interactor = &job.Interactor{Kind: p.Interactor.Kind, Program: x.program, Language: x.language, Files: x.files,
			Args: p.Interactor.Args}
	}
	return j, nil
}
