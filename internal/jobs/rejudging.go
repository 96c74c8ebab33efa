package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"judged/internal/api"
)

// RejudgingState is how far a rejudging is.
type RejudgingState string

// MaxRejudged is the most jobs of a rejudging.
const MaxRejudged = 10_000

// The states, in the order in which they follow each other. A cancelled rejudging was not applied, and one that failed
// has queued no job.
const (
	RejudgingFilling   RejudgingState = "filling" // its jobs are selected and queued
	RejudgingFailed    RejudgingState = "failed"
	RejudgingJudging   RejudgingState = "judging" // some of its jobs have not ended
	RejudgingReady     RejudgingState = "ready"
	RejudgingApplying  RejudgingState = "applying" // some originals have no new report yet
	RejudgingApplied   RejudgingState = "applied"
	RejudgingCancelled RejudgingState = "cancelled"
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

// Rejudging is a set of jobs that are judged again, and what that changes. The reports of the originals stay until it is
// applied.
type Rejudging struct {
	ID        string           `json:"id"`
	State     RejudgingState   `json:"state"`
	Reason    string           `json:"reason,omitempty"`
	CreatedAt time.Time        `json:"created_at"`
	EndedAt   time.Time        `json:"ended_at,omitzero"` // applied, cancelled or failed
	Error     string           `json:"error,omitempty"`   // why it failed
	Jobs      int              `json:"jobs"`              // selected so far
	Queued    int              `json:"queued"`            // of them, also those that have been judged since
	Judged    int              `json:"judged"`            // of these again
	Changed   int              `json:"changed"`           // of these with another verdict
	Verdicts  []RejudgedCount  `json:"verdicts"`
	Skipped   []SkippedJob     `json:"skipped"`      // selected ones that are not judged again; the first of them
	SkippedN  int              `json:"skipped_jobs"` // all of them
	Page      []RejudgedReport `json:"page,omitempty"`
	Next      string           `json:"next,omitempty"` // cursor of the next page
}

// RejudgedCount is how many jobs of a rejudging had one verdict and have another one now.
type RejudgedCount struct {
	Old  api.Verdict `json:"old"`
	New  api.Verdict `json:"new,omitempty"` // "" before it was judged again
	Jobs int         `json:"jobs"`
}

// SkippedJob is a job that cannot be judged again.
type SkippedJob struct {
	Job    string `json:"job"`
	Reason string `json:"reason"`
}

// RejudgingList is a page of the list of rejudgings.
type RejudgingList struct {
	Rejudgings []Rejudging `json:"rejudgings"`
	Next       string      `json:"next,omitempty"`
}

// RejudgedReport is a job of a rejudging.
type RejudgedReport struct {
	Job string `json:"job"`
	// Again is the job that judges it again; has the old report once the new one is applied.
	Again   string      `json:"rejudged_as,omitempty"`
	Old     api.Verdict `json:"old,omitempty"`
	New     api.Verdict `json:"new,omitempty"`
	Applied bool        `json:"applied"`
	Skipped string      `json:"skipped,omitempty"` // why it is not judged again
}

// RejudgingRequest asks for jobs to be judged again: those that are named, or those of a filter.
type RejudgingRequest struct {
	ID     string           `json:"id,omitempty"`
	Reason string           `json:"reason,omitempty"`
	Jobs   []string         `json:"jobs,omitempty"`
	Filter *RejudgingFilter `json:"filter,omitempty"`
	// SameProblem judges with the problem as it was; else with the stored one.
	SameProblem bool        `json:"same_problem,omitempty"`
	Limits      api.Limits  `json:"limits,omitzero"`
	Repeats     api.Repeats `json:"repeats,omitzero"`
	Pool        string      `json:"pool,omitempty"`
}

// RejudgingFilter selects judged jobs. Members that are zero do not restrict.
type RejudgingFilter struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Verdict     api.Verdict       `json:"verdict,omitempty"`
	Priority    api.Priority      `json:"priority,omitempty"`
	Pool        string            `json:"pool,omitempty"`
	Problem     string            `json:"problem,omitempty"`
	CreatedFrom time.Time         `json:"created_from,omitzero"`
	CreatedTo   time.Time         `json:"created_to,omitzero"`
}

// keptRequest is what is kept of a request.
type keptRequest struct {
	Reason  string            `json:"reason,omitempty"`
	Skipped []SkippedJob      `json:"skipped,omitempty"` // by a judged before schema 7
	Request *RejudgingRequest `json:"request,omitempty"` // until its jobs are queued
	Error   string            `json:"error,omitempty"`
}

// RejudgeID is the ID of the job that judges another one again, so that a repeated request makes no second one.
func RejudgeID(rejudging, original string) string {
	return OwnID("rejudge", fmt.Sprintf("%q %q", rejudging, original))
}

// PutRejudging stores a rejudging, to be filled: see UnfinishedRejudgings. digest recognizes a repeated request. created
// is false when the same one was stored before; the error is ErrConflict when the ID has another digest.
func (s *Store) PutRejudging(ctx context.Context, q RejudgingRequest, digest string) (created bool, err error) {
	if !ValidID(q.ID) {
		return false, fmt.Errorf("store rejudging %q: %w", q.ID, ErrBadID)
	}
	request, err := packJSON(keptRequest{Reason: q.Reason, Request: &q})
	if err != nil {
		return false, fmt.Errorf("encode rejudging %q: %w", q.ID, err)
	}
	n, err := s.exec(ctx, "put rejudging", `INSERT INTO rejudgings (id, digest, state, created, request, progress)
VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING`, q.ID, digest, rejudgingFilling, s.now().UnixNano(), request,
		workLeft)
	if err != nil {
		return false, err
	}
	if n == 1 {
		wakeUp(s.rejudgings)
		return true, nil
	}
	row, err := s.rejudging(ctx, q.ID)
	if err == nil && row.digest != digest {
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
}

const rejudgingColumns = `id, digest, state, created, ended, progress, request`

func (r *rejudgingRow) fields() []any {
	return []any{&r.id, &r.digest, &r.state, &r.created, &r.ended, &r.progress, &r.request}
}

func (r *rejudgingRow) kept() (k keptRequest, err error) {
	if err = unpackJSON(r.request, &k); err != nil {
		err = fmt.Errorf("decode rejudging %q: %w", r.id, err)
	}
	return k, err
}

func (s *Store) rejudging(ctx context.Context, id string) (r rejudgingRow, err error) {
	if !ValidID(id) {
		return r, fmt.Errorf("rejudging %q: %w", id, ErrNoRejudging)
	}
	err = s.rows(ctx, s.read, query{"read rejudging", `SELECT ` + rejudgingColumns + ` FROM rejudgings WHERE id = ?1`,
		[]any{id}}, func(rows *sql.Rows) error { return rows.Scan(r.fields()...) })
	if err == nil && r.id == "" {
		err = fmt.Errorf("rejudging %q: %w", id, ErrNoRejudging)
	}
	return r, err
}

// Rejudging returns a rejudging without a page of its jobs.
func (s *Store) Rejudging(ctx context.Context, id string) (Rejudging, error) {
	row, err := s.rejudging(ctx, id)
	if err != nil {
		return Rejudging{}, err
	}
	return s.count(ctx, row)
}

// newVerdict is the one that a job of a rejudging has got, as it was when it was applied: later rejudgings change the
// job.
const newVerdict = `CASE WHEN r.state > 0 THEN r.new_verdict WHEN j.state >= 2 THEN j.verdict ELSE '' END`

// listedSkipped is how many skipped jobs a rejudging lists; its pages have all of them.
const listedSkipped = 100

// count adds what the jobs of a rejudging have got.
func (s *Store) count(ctx context.Context, row rejudgingRow) (Rejudging, error) {
	request, err := row.kept()
	if err != nil {
		return Rejudging{}, err
	}
	v := Rejudging{ID: row.id, Reason: request.Reason, Error: request.Error, CreatedAt: timeOf(row.created),
		EndedAt: timeOf(row.ended), Verdicts: []RejudgedCount{}, SkippedN: len(request.Skipped)}
	v.Skipped = append([]SkippedJob{}, request.Skipped[:min(len(request.Skipped), listedSkipped)]...)
	judging, unapplied := false, false
	err = s.rows(ctx, s.read, query{"read rejudging", `SELECT r.old_verdict, ` + newVerdict + ` AS found, r.state,
	COALESCE(j.state, 2) < 2, COUNT(*)
FROM rejudged r LEFT JOIN jobs j ON j.id = r.id WHERE r.rejudging = ?1 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
		[]any{row.id}}, func(rows *sql.Rows) error {
		var c RejudgedCount
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
		v.add(c)
		return nil
	})
	v.State = stateOf(row.state, judging, unapplied)
	if err == nil && v.SkippedN > len(v.Skipped) {
		err = s.rows(ctx, s.read, query{"read rejudging", `SELECT original, reason FROM rejudged
WHERE rejudging = ?1 AND state = ?2 ORDER BY original {bytes} LIMIT ?3`,
			[]any{row.id, rejudgedSkipped, listedSkipped - len(v.Skipped)}}, func(rows *sql.Rows) error {
			var skipped SkippedJob
			err := rows.Scan(&skipped.Job, &skipped.Reason)
			v.Skipped = append(v.Skipped, skipped)
			return err
		})
	}
	return v, err
}

// add counts jobs with the same verdicts together.
func (v *Rejudging) add(c RejudgedCount) {
	v.Jobs += c.Jobs
	if c.New != "" {
		v.Judged += c.Jobs
	}
	if c.New != "" && c.New != c.Old {
		v.Changed += c.Jobs
	}
	if n := len(v.Verdicts); n > 0 && v.Verdicts[n-1].Old == c.Old && v.Verdicts[n-1].New == c.New {
		v.Verdicts[n-1].Jobs += c.Jobs
		return
	}
	v.Verdicts = append(v.Verdicts, c)
}

func stateOf(state int, judging, unapplied bool) RejudgingState {
	switch {
	case state == rejudgingFilling:
		return RejudgingFilling
	case state == rejudgingFailed:
		return RejudgingFailed
	case state == rejudgingCancelled:
		return RejudgingCancelled
	case state == rejudgingApplied && unapplied:
		return RejudgingApplying
	case state == rejudgingApplied:
		return RejudgingApplied
	case judging:
		return RejudgingJudging
	}
	return RejudgingReady
}
