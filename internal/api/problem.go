package api

import "maps"

// Problem holds the data of a package that is added to jobs with its ID. Its files are blobs.
type Problem struct {
	ID         string             `json:"id"`
	Version    string             `json:"version"`          // digest of the package's files: SHA-256 in hex
	Owner      string             `json:"owner,omitempty"`  // token that first stored it, "" if no token was needed
	Tenant     string             `json:"tenant,omitempty"` // to which it belongs; "" means that all may use it
	Name       string             `json:"name"`
	Format     ProblemFormat      `json:"format"`
	Archive    string             `json:"archive"` // blob: the package as submitted
	Tests      []Test             `json:"tests"`
	Groups     []GroupTests       `json:"groups"` // outer ones before their parts
	Checker    *Checker           `json:"checker"`
	Interactor *Interactor        `json:"interactor,omitempty"`
	InputFile  string             `json:"input_file,omitempty"`
	OutputFile string             `json:"output_file,omitempty"`
	Passes     int                `json:"passes,omitempty"`
	Limits     Limits             `json:"limits"`
	Factors    map[string]Factors `json:"factors,omitempty"` // of the limits, by language
	Findings   []string           `json:"findings"`          // features that the package uses and judged does not support
	// Members that only judged reads.
	Scheme    *Scheme                    `json:"scheme,omitempty" from:"judged"`
	Includes  map[string]map[string]File `json:"includes,omitempty" from:"judged"` // code for submissions, by language
	Languages []string                   `json:"languages,omitempty"`              // allowed languages; empty means all
}

// Shown returns the part of the problem that callers see.
func (p Problem) Shown() Problem {
	p.Scheme, p.Includes = nil, nil
	return p
}

// Job returns the part of a job that comes from the problem.
func (p Problem) Job() Job {
	return Job{Tests: p.Tests, Checker: p.Checker, Interactor: p.Interactor, Passes: p.Passes,
		InputFile: p.InputFile, OutputFile: p.OutputFile, Limits: p.Limits, Scheme: p.Scheme}
}

// ProblemOf is the inverse of Job: it returns the part of an accepted job that came from its problem.
func ProblemOf(j Job) Problem {
	return Problem{ID: j.Problem, Version: j.ProblemVersion, Tests: j.Tests, Checker: j.Checker, Interactor: j.Interactor,
		Passes: j.Passes, InputFile: j.InputFile, OutputFile: j.OutputFile, Limits: j.Limits, Scheme: j.Scheme,
		Factors: map[string]Factors{j.Language: j.ProblemFactors}}
}

// Include adds the problem's code and factors to a job in a language. The code replaces files of the same name.
func (p Problem) Include(j Job) Job {
	j.ProblemFactors = p.Factors[j.Language]
	j.Files = maps.Clone(j.Files)
	for _, language := range []string{"", j.Language} {
		for name, f := range p.Includes[language] {
			if j.Files == nil {
				j.Files = map[string]File{}
			}
			j.Files[name] = f
		}
	}
	return j
}

// ProblemSummary is a problem in a list.
type ProblemSummary struct {
	ID      string        `json:"id"`
	Version string        `json:"version"`
	Name    string        `json:"name"`
	Format  ProblemFormat `json:"format"`
	Owner   string        `json:"owner,omitempty"`
	Tenant  string        `json:"tenant,omitempty"`
}

// EachBlob calls f for each file that jobs with the problem need.
func (p Problem) EachBlob(f func(digest string)) error {
	for _, files := range p.Includes {
		for _, file := range files {
			f(file.Blob)
		}
	}
	_, err := p.Job().MapFiles(func(_ string, file File) (File, error) {
		f(file.Blob)
		return file, nil
	})
	return err
}
