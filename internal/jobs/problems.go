package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"

	"judged/internal/api"
)

// problemValues is the first part of the names of values that are problems. They and
// their blobs are kept until they are replaced.
const problemValues = "problem"

// Problem is what a package says to jobs that name it. Its files are blobs.
type Problem struct {
	ID         string            `json:"id"`
	Version    string            `json:"version"`         // digest of the package's files: SHA-256 in hex
	Owner      string            `json:"owner,omitempty"` // token that stored it first, "" if none was needed
	Name       string            `json:"name"`
	Format     api.ProblemFormat `json:"format"`
	Archive    string            `json:"archive"` // blob: the package as it was sent
	Tests      []api.Test        `json:"tests"`
	Groups     []api.GroupTests  `json:"groups"` // outer ones before their parts
	Checker    *api.Checker      `json:"checker"`
	Interactor *api.Interactor   `json:"interactor,omitempty"`
	InputFile  string            `json:"input_file,omitempty"`
	OutputFile string            `json:"output_file,omitempty"`
	Passes     int               `json:"passes,omitempty"`
	Limits     api.Limits        `json:"limits"`
	Findings   []string          `json:"findings"` // what the package uses and judged does not do
	// What only judged itself reads.
	Scheme    *api.Scheme                    `json:"scheme,omitempty" from:"judged"`
	Includes  map[string]map[string]api.File `json:"includes,omitempty" from:"judged"` // code for submissions, by language
	Languages []string                       `json:"languages,omitempty"`              // allowed ones; empty is all
}

// Shown is what callers see of the problem.
func (p Problem) Shown() Problem {
	p.Scheme, p.Includes = nil, nil
	return p
}

// Job is the part of a job that the problem has.
func (p Problem) Job() api.Job {
	return api.Job{Tests: p.Tests, Checker: p.Checker, Interactor: p.Interactor, Passes: p.Passes,
		InputFile: p.InputFile, OutputFile: p.OutputFile, Limits: p.Limits, Scheme: p.Scheme}
}

// ProblemOf is the inverse of Job: what a job that was accepted has of its problem.
func ProblemOf(j api.Job) Problem {
	return Problem{ID: j.Problem, Version: j.ProblemVersion, Tests: j.Tests, Checker: j.Checker, Interactor: j.Interactor,
		Passes: j.Passes, InputFile: j.InputFile, OutputFile: j.OutputFile, Limits: j.Limits, Scheme: j.Scheme}
}

// Include adds the problem's code to a job in a language. It replaces files of the
// same name.
func (p Problem) Include(j api.Job) api.Job {
	j.Files = maps.Clone(j.Files)
	for _, language := range []string{"", j.Language} {
		for name, f := range p.Includes[language] {
			if j.Files == nil {
				j.Files = map[string]api.File{}
			}
			j.Files[name] = f
		}
	}
	return j
}

// ProblemSummary is a problem in a list.
type ProblemSummary struct {
	ID      string            `json:"id"`
	Version string            `json:"version"`
	Name    string            `json:"name"`
	Format  api.ProblemFormat `json:"format"`
	Owner   string            `json:"owner,omitempty"`
}

// Editor changes problems.
type Editor struct {
	Name string // of the token, "" if none is needed
	Any  bool   // may change the problems of others
}

// Check returns ErrNotOwner if the editor may not replace or delete a problem.
func (e Editor) Check(p Problem) error {
	if e.Any || e.Name == p.Owner {
		return nil
	}
	return fmt.Errorf("change problem %q: %w", p.ID, ErrNotOwner)
}

// PutProblem stores a problem in place of the one with its ID, and returns it with its
// owner. When it returns, the problem is durable. created is false when it was stored
// before in this version.
func (s *Store) PutProblem(ctx context.Context, p Problem, by Editor) (stored Problem, created bool, err error) {
	for changed := false; !changed; {
		var old Problem
		value, err := s.packedValue(ctx, &old, problemValues, p.ID)
		if err != nil {
			return Problem{}, false, err
		}
		p.Owner, created = by.Name, true
		if value != nil {
			if err := by.Check(old); err != nil {
				return Problem{}, false, err
			}
			p.Owner, created = old.Owner, old.Version != p.Version
		}
		if changed, err = s.swapValue(ctx, value, p, problemValues, p.ID); err != nil {
			return Problem{}, false, err
		}
	}
	return p, created, nil
}

// DeleteProblem deletes a problem. Jobs that were accepted have its tests, and their
// blobs are kept for them.
func (s *Store) DeleteProblem(ctx context.Context, id string, by Editor) error {
	for deleted := false; !deleted; {
		var old Problem
		value, err := s.packedValue(ctx, &old, problemValues, id)
		switch {
		case err != nil:
			return err
		case value == nil:
			return fmt.Errorf("delete problem %q: %w", id, ErrNoProblem)
		}
		if err := by.Check(old); err != nil {
			return err
		}
		if deleted, err = s.deleteValue(ctx, value, problemValues, id); err != nil {
			return err
		}
	}
	return nil
}

// Problem returns the problem with an ID. The error is ErrNoProblem if it does not exist.
func (s *Store) Problem(ctx context.Context, id string) (Problem, error) {
	var p Problem
	found, err := s.Value(ctx, &p, problemValues, id)
	if err == nil && !found {
		err = fmt.Errorf("read problem %q: %w", id, ErrNoProblem)
	}
	return p, err
}

// Problems returns a page of at most limit problems in the order of their IDs, and the
// cursor of the next page, "" after the last one.
func (s *Store) Problems(ctx context.Context, after string, limit int) (page []ProblemSummary, next string, err error) {
	start, end := valueRange(problemValues)
	if after != "" {
		if !ValidID(after) {
			return nil, "", fmt.Errorf("list problems after %q: %w", after, ErrBadCursor)
		}
		start = valueName([]string{problemValues, after})
	}
	page = []ProblemSummary{}
	err = s.rows(ctx, s.read, query{"list problems", `SELECT value FROM memory WHERE name {bytes} > ?1
AND name {bytes} < ?2 ORDER BY name {bytes} LIMIT ?3`, []any{start, end, limit + 1}}, func(rows *sql.Rows) error {
		var value []byte
		if err := rows.Scan(&value); err != nil {
			return err
		}
		var p ProblemSummary
		if err := unpackJSON(value, &p); err != nil {
			return fmt.Errorf("decode problem: %w", err)
		}
		page = append(page, p)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].ID
	}
	return page, next, nil
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
	_, err := p.Job().MapFiles(func(_ string, file api.File) (api.File, error) {
		f(file.Blob)
		return file, nil
	})
	return err
}
