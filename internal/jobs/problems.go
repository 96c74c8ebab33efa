package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"judged/internal/base/job"
	"judged/internal/engine/problem"
	"judged/internal/engine/scoring"
	"judged/internal/jobs/jobspec"
)

// problemValues is the first part of the names of values that are problems. They and
// their blobs are kept until they are replaced.
const problemValues = "problem"

// Problem is what a package says to jobs that name it. Its files are blobs.
type Problem struct {
	ID         string               `json:"id"`
	Version    string               `json:"version"` // digest of the package's files: SHA-256 in hex
	Name       string               `json:"name"`
	Format     problem.Format       `json:"format"`
	Archive    string               `json:"archive"` // blob: the package as it was sent
	Tests      []job.Test           `json:"tests"`
	Groups     []scoring.GroupTests `json:"groups"` // outer ones before their parts
	Checker    *job.Checker         `json:"checker"`
	Interactor *job.Interactor      `json:"interactor,omitempty"`
	Limits     job.Limits           `json:"limits"`
	Findings   []string             `json:"findings"` // what the package uses and judged does not do
	// What only judged itself reads.
	Scheme    *job.Scheme                    `json:"scheme,omitempty" from:"judged"`
	Includes  map[string]map[string]job.File `json:"includes,omitempty" from:"judged"` // code for submissions, by language
	Languages []string                       `json:"languages,omitempty"`              // allowed ones; empty is all
}

// Shown is what callers see of the problem.
func (p Problem) Shown() Problem {
	p.Scheme, p.Includes = nil, nil
	return p
}

// Job is the part of a job that the problem has.
func (p Problem) Job() job.Job {
	return job.Job{Tests: p.Tests, Checker: p.Checker, Interactor: p.Interactor, Limits: p.Limits, Scheme: p.Scheme}
}

// Include adds the problem's code to a job in a language. It replaces files of the
// same name.
func (p Problem) Include(j job.Job) job.Job {
	j.Files = maps.Clone(j.Files)
	for _, language := range []string{"", j.Language} {
		for name, f := range p.Includes[language] {
			if j.Files == nil {
				j.Files = map[string]job.File{}
			}
			j.Files[name] = f
		}
	}
	return j
}

// PutProblem stores a problem in place of the one with its ID. When it returns, the
// problem is durable. created is false when it was stored before in this version.
func (s *Store) PutProblem(ctx context.Context, p Problem) (created bool, err error) {
	old, found, err := s.Problem(ctx, p.ID)
	if err != nil {
		return false, err
	}
	return !found || old.Version != p.Version, s.SetValue(ctx, p, problemValues, p.ID)
}

// Problem returns the problem with an ID, and reports whether there is one.
func (s *Store) Problem(ctx context.Context, id string) (p Problem, found bool, err error) {
	found, err = s.Value(ctx, &p, problemValues, id)
	return p, found, err
}

// eachProblemBlob calls f for the files of a problem.
func eachProblemBlob(value []byte, f func(digest string)) error {
	var p Problem
	if err := json.Unmarshal(value, &p); err != nil {
		return fmt.Errorf("decode problem: %w", err)
	}
	f(p.Archive)
	return p.EachBlob(f)
}

// EachBlob calls f for each file that jobs with the problem need.
func (p Problem) EachBlob(f func(digest string)) error {
	for _, files := range p.Includes {
		for _, file := range files {
			f(file.Blob)
		}
	}
	_, err := jobspec.MapFiles(p.Job(), func(_ string, file job.File) (job.File, error) {
		f(file.Blob)
		return file, nil
	})
	return err
}
