package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"judged/internal/api"
)

// workLeft is the progress of a rejudging that has just been stored, applied or cancelled.
const workLeft = "{}"

// UnfinishedRejudging is a rejudging that is being filled, applied or cancelled.
type UnfinishedRejudging struct {
	ID        string
	State     api.RejudgingState // RejudgingFilling, RejudgingApplying or RejudgingCancelled
	CreatedAt time.Time
	Tenant    string               // tenant of the rejudging and of all its jobs
	Request   api.RejudgingRequest // set while the rejudging is filled
	Progress  RejudgingProgress
	Broken    error // reason why the rejudging cannot be filled

	stored string // Progress as stored
}

// RejudgingProgress is the progress of selecting the jobs of a rejudging.
type RejudgingProgress struct {
	Named    int    `json:"named,omitempty"` // number of named jobs that were looked up
	After    string `json:"after,omitempty"` // cursor of the list to which the filter is applied
	Jobs     int    `json:"jobs,omitempty"`  // number of selected jobs, without skipped ones
	Selected bool   `json:"selected,omitempty"`
}

// SelectedJob is a job of a rejudging before it is queued.
type SelectedJob struct {
	ID      string
	Verdict api.Verdict
	Skipped string // reason why it cannot be judged again
}

// UnfinishedRejudgings returns up to limit unfinished rejudgings, oldest first. Processes need no lock to work on them:
// a step changes nothing if another process has done it.
func (s *Store) UnfinishedRejudgings(ctx context.Context, limit int) (all []UnfinishedRejudging, err error) {
	err = s.rows(ctx, s.read, query{"read rejudgings", `SELECT ` + rejudgingColumns + ` FROM rejudgings
WHERE progress <> '' ORDER BY created, id LIMIT ?1`, []any{limit}}, func(rows *sql.Rows) error {
		var r rejudgingRow
		if err := rows.Scan(r.fields()...); err != nil {
			return err
		}
		state, err := r.stateOf(false, true)
		if err != nil {
			return err
		}
		u := UnfinishedRejudging{ID: r.id, State: state, CreatedAt: timeOf(r.created), Tenant: r.tenant, stored: r.progress}
		if u.State == api.RejudgingFilling {
			kept, err := r.kept()
			if err == nil && kept.Request == nil {
				err = errors.New("the request is missing")
			}
			if err == nil {
				u.Request = *kept.Request
				err = json.Unmarshal([]byte(r.progress), &u.Progress)
			}
			u.Broken = err
		}
		all = append(all, u)
		return nil
	})
	return all, err
}

// RejudgingStored returns a channel that receives a value after this process has stored a rejudging. Callers must poll
// for rejudgings of other processes.
func (s *Store) RejudgingStored() <-chan struct{} { return s.rejudgings }

// SelectRejudged adds jobs to a rejudging and sets its progress to next, with the number of jobs. It returns ErrFinal
// if the rejudging is no longer being filled, or if another process has changed its progress.
func (s *Store) SelectRejudged(ctx context.Context, u UnfinishedRejudging, found []SelectedJob,
	next RejudgingProgress) error {
	return s.tx(ctx, "put rejudging", func(ctx context.Context, tx *sql.Tx) error {
		next.Jobs = u.Progress.Jobs
		one, err := tx.PrepareContext(ctx, s.driver.sql(`INSERT INTO rejudged (id, rejudging, original, state, old_verdict,
	reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING`))
		if err != nil {
			return err
		}
		for _, f := range found {
			state := rejudgedSelected
			if f.Skipped != "" {
				state = rejudgedSkipped
			}
			result, err := one.ExecContext(ctx, RejudgeID(u.ID, f.ID), u.ID, f.ID, state, string(f.Verdict), f.Skipped)
			var added int64
			if err == nil {
				added, err = result.RowsAffected()
			}
			if err != nil {
				return errors.Join(err, one.Close())
			}
			if f.Skipped == "" {
				next.Jobs += int(added)
			}
		}
		if err := one.Close(); err != nil {
			return err
		}
		progress, err := json.Marshal(next)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, s.driver.sql(`UPDATE rejudgings SET progress = ?1
WHERE id = ?2 AND state = ?3 AND progress = ?4`), string(progress), u.ID, rejudgingFilling, u.stored)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return notFilled(u.ID)
	})
}

func notFilled(id string) error {
	return fmt.Errorf("fill rejudging %q: it has ended, or another process fills it: %w", id, api.ErrFinal)
}

// UnqueuedJobs returns the IDs of up to limit selected jobs of a rejudging that are not queued yet, after one of them or
// "".
func (s *Store) UnqueuedJobs(ctx context.Context, id, after string, limit int) (originals []string, err error) {
	err = s.rows(ctx, s.read, query{"read rejudging", `SELECT original FROM rejudged WHERE rejudging = ?1
AND original > ?2 AND state = ?3 ORDER BY original LIMIT ?4`, []any{id, after, rejudgedSelected, limit}},
		func(rows *sql.Rows) error {
			var original string
			err := rows.Scan(&original)
			originals = append(originals, original)
			return err
		})
	return originals, err
}

// SkipRejudged skips a selected job of a rejudging.
func (s *Store) SkipRejudged(ctx context.Context, id string, skipped api.SkippedJob) error {
	_, err := s.exec(ctx, "put rejudging", `UPDATE rejudged SET state = ?1, reason = ?2 WHERE id = ?3 AND state = ?4`,
		rejudgedSkipped, skipped.Reason, RejudgeID(id, skipped.Job), rejudgedSelected)
	return err
}

// RejudgingRoom returns the number of jobs that a rejudging may queue now. Rejudgings use at most half of the queue, so
// that there is room for the jobs of contestants.
func (s *Store) RejudgingRoom(ctx context.Context) (int, error) {
	depths, err := s.Depth(ctx)
	most := int(s.maxWaiting.Load())
	if most <= 0 {
		return api.MaxRejudged, err
	}
	return max(max(most/2, 1)-depths.Total(), 0), err
}

// tenantPart is the part of the places of a tenant that rejudgings may use: a half, as of the whole queue.
const tenantPart = 2

// QueueRejudged queues the job that judges a selected one again, once. old holds the current verdict. QueueRejudged
// returns ErrFull, a QuotaError of the job's tenant, or ErrFinal if the rejudging is no longer being filled.
func (s *Store) QueueRejudged(ctx context.Context, id string, old SelectedJob, n Submission) error {
	refused, err := s.reserve(ctx, n.Tenant, tenantPart)
	if err != nil {
		return err
	}
	if refused != nil {
		return fmt.Errorf("fill rejudging %q: %w", id, refused)
	}
	added := false
	defer func() { s.capacity.release(n.Tenant, added) }()
	n.ID, n.BodyDigest = RejudgeID(id, old.ID), id
	turn := s.turns.assign(n.flow())
	defer func() {
		if s.settle(n.flow(), turn, added); added {
			s.notifyWork(n.slotClass())
		}
	}()
	_, args, err := s.newRow(n, turn)
	if err != nil {
		return err
	}
	created, err := s.insertLabelled(ctx, n, args, func(ctx context.Context, tx *sql.Tx) error {
		return s.claimSelected(ctx, tx, id, old)
	})
	switch {
	case errors.Is(err, errQueued):
		return nil
	case err != nil:
		return err
	case !created:
		return s.SkipRejudged(ctx, id, api.SkippedJob{Job: old.ID, Reason: fmt.Sprintf("another job has the ID %q",
			n.ID)})
	}
	added = true
	return nil
}

// errQueued rolls back a transaction that would queue a job twice.
var errQueued = errors.New("the job was queued before")

// claimSelected changes a selected job to a queued one.
func (s *Store) claimSelected(ctx context.Context, tx *sql.Tx, id string, old SelectedJob) error {
	state := -1
	// The lock is held until the commit, so that a cancellation finds the job.
	found, err := tx.QueryContext(ctx, s.driver.sql(`SELECT state FROM rejudgings WHERE id = ?1 {hold}`), id)
	if err == nil {
		err = each(found, func(rows *sql.Rows) error { return rows.Scan(&state) })
	}
	if err != nil {
		return err
	}
	if state != rejudgingFilling {
		return notFilled(id)
	}
	claim, err := tx.ExecContext(ctx, s.driver.sql(`UPDATE rejudged SET state = ?1, old_verdict = ?2
WHERE id = ?3 AND state = ?4`), rejudgedOpen, string(old.Verdict), RejudgeID(id, old.ID), rejudgedSelected)
	if err != nil {
		return err
	}
	if n, err := claim.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return errQueued
}

// EndFilling ends the filling of a rejudging, because all jobs are queued or with a failure.
func (s *Store) EndFilling(ctx context.Context, u UnfinishedRejudging, failure string) error {
	state, ended := rejudgingOpen, int64(0)
	if failure != "" {
		state, ended = rejudgingFailed, s.now().UnixNano()
	}
	request, err := packJSON(keptRequest{Reason: u.Request.Reason, Error: failure})
	if err != nil {
		return fmt.Errorf("encode rejudging %q: %w", u.ID, err)
	}
	n, err := s.exec(ctx, "put rejudging", `UPDATE rejudgings SET state = ?1, ended = ?2, request = ?3, progress = ''
WHERE id = ?4 AND state = ?5`, state, ended, request, u.ID, rejudgingFilling)
	if err == nil && n == 0 {
		err = notFilled(u.ID)
	}
	return err
}
