package jobs

import (
	"context"
	"database/sql"
	"fmt"

	"judged/internal/api"
)

// States of a rejudging and of its jobs in the database.
const (
	rejudgingOpen      = 0
	rejudgingApplied   = 1
	rejudgingCancelled = 2
	rejudgingFilling   = 3
	rejudgingFailed    = 4
	rejudgedOpen       = 0
	rejudgedReplaced   = 1
	rejudgedLeft       = 2
	rejudgedSelected   = 3
	rejudgedSkipped    = 4
)

// keptRequest is the stored part of a request.
type keptRequest struct {
	Reason  string                `json:"reason,omitempty"`
	Skipped []api.SkippedJob      `json:"skipped,omitempty"` // written before schema 7
	Request *api.RejudgingRequest `json:"request,omitempty"` // until its jobs are queued
	Error   string                `json:"error,omitempty"`
}

// rejudgeKind is the kind of the IDs of jobs that rejudgings queue.
const rejudgeKind = "rejudge"

// RejudgeID returns the ID of the job that judges another one again. A repeated request has the same ID, so the job is
// created only once.
func RejudgeID(rejudging, original string) string {
	return OwnID(rejudgeKind, fmt.Sprintf("%q %q", rejudging, original))
}

// PutRejudging stores a rejudging without jobs; UnfinishedRejudgings returns it to be filled. digest identifies a
// repeated request. created is false if the same request was stored before. PutRejudging returns ErrConflict if the ID
// is used with another digest or by another tenant.
func (s *Store) PutRejudging(ctx context.Context, q api.RejudgingRequest, digest string) (created bool, err error) {
	if !ValidStoredID(q.ID) {
		return false, fmt.Errorf("store rejudging %q: %w", q.ID, ErrBadID)
	}
	request, err := packJSON(keptRequest{Reason: q.Reason, Request: &q})
	if err != nil {
		return false, fmt.Errorf("encode rejudging %q: %w", q.ID, err)
	}
	n, err := s.exec(ctx, "put rejudging", `INSERT INTO rejudgings (id, digest, state, created, request, progress, tenant)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING`, q.ID, digest, rejudgingFilling, s.now().UnixNano(), request,
		workLeft, TenantOf(ctx))
	if err != nil {
		return false, err
	}
	if n == 1 {
		wakeUp(s.rejudgings)
		return true, nil
	}
	row, err := s.rejudging(WithTenant(ctx, ""), q.ID)
	if err == nil && (row.digest != digest || hidden(ctx, row.tenant)) {
		err = fmt.Errorf("store rejudging %q: %w", q.ID, ErrConflict)
	}
	return false, err
}

// rejudgingRow is a rejudging without its jobs.
type rejudgingRow struct {
	id, digest     string
	state          int
	created, ended int64
	progress       string
	request        []byte
	tenant         string
}

const rejudgingColumns = `id, digest, state, created, ended, progress, request, tenant`

func (r *rejudgingRow) fields() []any {
	return []any{&r.id, &r.digest, &r.state, &r.created, &r.ended, &r.progress, &r.request, &r.tenant}
}

func (r *rejudgingRow) kept() (k keptRequest, err error) {
	if err = unpackJSON(r.request, &k); err != nil {
		err = fmt.Errorf("decode rejudging %q: %w", r.id, err)
	}
	return k, err
}

func (s *Store) rejudging(ctx context.Context, id string) (r rejudgingRow, err error) {
	if !ValidStoredID(id) {
		return r, fmt.Errorf("rejudging %q: %w", id, ErrNoRejudging)
	}
	err = s.rows(ctx, s.read, query{"read rejudging", `SELECT ` + rejudgingColumns + ` FROM rejudgings WHERE id = ?1`,
		[]any{id}}, func(rows *sql.Rows) error { return rows.Scan(r.fields()...) })
	if err == nil && (r.id == "" || hidden(ctx, r.tenant)) {
		return rejudgingRow{}, fmt.Errorf("rejudging %q: %w", id, ErrNoRejudging)
	}
	return r, err
}

// Rejudging returns a rejudging without its pages of jobs.
func (s *Store) Rejudging(ctx context.Context, id string) (api.Rejudging, error) {
	row, err := s.rejudging(ctx, id)
	if err != nil {
		return api.Rejudging{}, err
	}
	return s.count(ctx, row)
}

// newVerdict is the verdict of a rejudged job at the time when the rejudging was applied. Later rejudgings change the
// job.
const newVerdict = `CASE WHEN r.state > 0 THEN r.new_verdict WHEN j.state >= 2 THEN j.verdict ELSE '' END`

// listedSkipped is the number of skipped jobs that a rejudging lists. Its pages list all of them.
const listedSkipped = 100

// count adds the results of its jobs to a rejudging.
func (s *Store) count(ctx context.Context, row rejudgingRow) (api.Rejudging, error) {
	request, err := row.kept()
	if err != nil {
		return api.Rejudging{}, err
	}
	v := api.Rejudging{ID: row.id, Tenant: row.tenant, Reason: request.Reason, Error: request.Error,
		CreatedAt: timeOf(row.created), EndedAt: timeOf(row.ended),
		Verdicts: []api.RejudgedCount{}, SkippedN: len(request.Skipped)}
	v.Skipped = append([]api.SkippedJob{}, request.Skipped[:min(len(request.Skipped), listedSkipped)]...)
	judging, unapplied := false, false
	err = s.rows(ctx, s.read, query{"read rejudging", `SELECT r.old_verdict, ` + newVerdict + ` AS found, r.state,
	COALESCE(j.state, 2) < 2, COUNT(*)
FROM rejudged r LEFT JOIN jobs j ON j.id = r.id WHERE r.rejudging = ?1 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
		[]any{row.id}}, func(rows *sql.Rows) error {
		var c api.RejudgedCount
		var state int
		var unfinished bool
		if err := rows.Scan(&c.Old, &c.New, &state, &unfinished, &c.Jobs); err != nil {
			return err
		}
		if state == rejudgedSkipped {
			v.SkippedN += c.Jobs
			return nil
		}
		if state != rejudgedSelected {
			v.Queued += c.Jobs
		}
		judging, unapplied = judging || unfinished, unapplied || state == rejudgedOpen
		v.Add(c)
		return nil
	})
	if err == nil {
		v.State, err = row.stateOf(judging, unapplied)
	}
	if err == nil && v.SkippedN > len(v.Skipped) {
		err = s.rows(ctx, s.read, query{"read rejudging", `SELECT original, reason FROM rejudged
WHERE rejudging = ?1 AND state = ?2 ORDER BY original {bytes} LIMIT ?3`,
			[]any{row.id, rejudgedSkipped, listedSkipped - len(v.Skipped)}}, func(rows *sql.Rows) error {
			var skipped api.SkippedJob
			err := rows.Scan(&skipped.Job, &skipped.Reason)
			v.Skipped = append(v.Skipped, skipped)
			return err
		})
	}
	return v, err
}

func (r *rejudgingRow) stateOf(judging, unapplied bool) (api.RejudgingState, error) {
	switch r.state {
	case rejudgingFilling:
		return api.RejudgingFilling, nil
	case rejudgingFailed:
		return api.RejudgingFailed, nil
	case rejudgingCancelled:
		return api.RejudgingCancelled, nil
	case rejudgingApplied:
		if unapplied {
			return api.RejudgingApplying, nil
		}
		return api.RejudgingApplied, nil
	case rejudgingOpen:
		if judging {
			return api.RejudgingJudging, nil
		}
		return api.RejudgingReady, nil
	}
	return "", fmt.Errorf("decode rejudging %q: unknown state %d", r.id, r.state)
}
