package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"judged/internal/api"
)

// problemValues is the first part of the names of values that are problems. Problems and their blobs are kept until
// they are deleted or replaced.
const problemValues = "problem"

// Editor is the caller that changes a problem.
type Editor struct {
	Name string // name of the token; "" if no token is needed
	Any  bool   // may change the problems of other tokens
}

// Check returns ErrNotOwner if the editor may not replace or delete a problem. Callers with a tenant may change only
// problems of that tenant.
func (e Editor) Check(ctx context.Context, p api.Problem) error {
	if (e.Any || e.Name == p.Owner) && !hidden(ctx, p.Tenant) {
		return nil
	}
	return fmt.Errorf("change problem %q: %w", p.ID, ErrNotOwner)
}

// PutProblem stores a problem, replaces the one with the same ID, and returns it with its owner. When it returns, the
// problem is durable. created is false if this version was already stored.
func (s *Store) PutProblem(ctx context.Context, p api.Problem, by Editor) (stored api.Problem, created bool, err error) {
	for changed := false; !changed; {
		var old api.Problem
		value, err := s.packedValue(ctx, &old, problemValues, p.ID)
		if err != nil {
			return api.Problem{}, false, err
		}
		p.Owner, p.Tenant, created = by.Name, TenantOf(ctx), true
		if value != nil {
			if err := by.Check(ctx, old); err != nil {
				return api.Problem{}, false, err
			}
			p.Owner, p.Tenant, created = old.Owner, old.Tenant, old.Version != p.Version
		}
		if changed, err = s.swapValue(ctx, value, p, problemValues, p.ID); err != nil {
			return api.Problem{}, false, err
		}
	}
	return p, created, nil
}

// DeleteProblem deletes a problem. Existing jobs contain its tests, and the blobs of those jobs are kept.
func (s *Store) DeleteProblem(ctx context.Context, id string, by Editor) error {
	for deleted := false; !deleted; {
		var old api.Problem
		value, err := s.packedValue(ctx, &old, problemValues, id)
		switch {
		case err != nil:
			return err
		case value == nil || invisible(ctx, old.Tenant):
			return fmt.Errorf("delete problem %q: %w", id, ErrNoProblem)
		}
		if err := by.Check(ctx, old); err != nil {
			return err
		}
		if deleted, err = s.deleteValue(ctx, value, problemValues, id); err != nil {
			return err
		}
	}
	return nil
}

// Problem returns the problem with an ID, or ErrNoProblem if it does not exist.
func (s *Store) Problem(ctx context.Context, id string) (api.Problem, error) {
	var p api.Problem
	found, err := s.Value(ctx, &p, problemValues, id)
	if err == nil && (!found || invisible(ctx, p.Tenant)) {
		return api.Problem{}, fmt.Errorf("read problem %q: %w", id, ErrNoProblem)
	}
	return p, err
}

// invisible reports whether a problem is hidden from a caller. Problems without a tenant are visible to all callers.
func invisible(ctx context.Context, owner string) bool { return owner != "" && hidden(ctx, owner) }

// Problems returns a page of up to limit problems in the order of their IDs, and the cursor of the next page, or ""
// after the last one. Problems that the caller may not see are omitted, so a page may be short.
func (s *Store) Problems(ctx context.Context, after string, limit int) (page []api.ProblemSummary, next string,
	err error) {
	start, end := valueRange(problemValues)
	if after != "" {
		if !ValidID(after) {
			return nil, "", fmt.Errorf("list problems after %q: %w", after, ErrBadCursor)
		}
		start = valueName([]string{problemValues, after})
	}
	page = []api.ProblemSummary{}
	read := 0
	err = s.rows(ctx, s.read, query{"list problems", `SELECT value FROM key_value WHERE name {bytes} > ?1
AND name {bytes} < ?2 ORDER BY name {bytes} LIMIT ?3`, []any{start, end, limit + 1}}, func(rows *sql.Rows) error {
		var value []byte
		if err := rows.Scan(&value); err != nil {
			return err
		}
		var p api.ProblemSummary
		if err := unpackJSON(value, &p); err != nil {
			return fmt.Errorf("decode problem: %w", err)
		}
		if read++; read > limit {
			return nil
		}
		next = p.ID
		if !invisible(ctx, p.Tenant) {
			page = append(page, p)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if read <= limit {
		next = ""
	}
	return page, next, nil
}

// eachProblemBlob calls f for the files of a problem.
func eachProblemBlob(value []byte, f func(digest string)) error {
	var p api.Problem
	if err := json.Unmarshal(value, &p); err != nil {
		return fmt.Errorf("decode problem: %w", err)
	}
	f(p.Archive)
	return p.EachBlob(f)
}
