package problem

import (
	"fmt"
	"slices"
	"strings"

	"judged/internal/api"
)

// NotAllowedError means that the problem does not allow the language of a submission.
type NotAllowedError struct {
	Problem, Language string
	Allowed           []string
}

func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("problem %q does not allow the language %q; it allows %s", e.Problem, e.Language,
		strings.Join(e.Allowed, ", "))
}

// Judging returns a job with the settings of the package: tests, limits that j does not set, checker and interactor.
// Files are parts that name paths on this host.
func (p *Package) Judging(j api.Job) (api.Job, error) {
	for _, t := range p.Tests {
		j.Tests = append(j.Tests, t.Job())
	}
	if j.Language != "" && j.Language != api.BuildLanguage && len(p.Languages) > 0 &&
		!slices.Contains(p.Languages, j.Language) {
		return j, &NotAllowedError{p.Name, j.Language, p.Languages}
	}
	if p.SubmitAnswer && j.Files != nil {
		j = shareAnswers(j)
	} else {
		j = p.include(j)
	}
	j.Limits = j.Limits.Or(api.Limits{CPUTimeMS: p.Limits.Time.Milliseconds(), Memory: p.Limits.Memory,
		Output: p.Limits.Output})
	j.ProblemFactors = p.Factors[j.Language]
	j.Passes, j.InputFile, j.OutputFile = p.Limits.Passes, p.InputFile, p.OutputFile
	j.Scheme = &p.Scheme
	j.Checker, j.Interactor = &api.Checker{Kind: "tokens"}, nil
	if p.Checker.Kind != "" {
		j.Checker = &api.Checker{Kind: p.Checker.Kind, Args: p.Checker.Args}
	}
	if p.Checker.Program != nil {
		x, err := p.Checker.Program.start()
		if err != nil {
			return j, fmt.Errorf("use checker: %w", err)
		}
		j.Checker.Name, j.Checker.Program, j.Checker.Language, j.Checker.Files = p.Checker.Program.Name, &x.program,
			x.language, x.files
	}
	if p.Interactor != nil {
		x, err := p.Interactor.Program.start()
		if err != nil {
			return j, fmt.Errorf("use interactor: %w", err)
		}
		j.Interactor = &api.Interactor{Kind: p.Interactor.Kind, Name: p.Interactor.Program.Name, Program: x.program,
			Language: x.language, Files: x.files, Args: p.Interactor.Args, Instances: p.Interactor.Instances}
	}
	return j, nil
}
