package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"judged/internal/api"
)

// applyBatch is the number of reports that one transaction replaces. It bounds the delay of other writers.
const applyBatch = 50

// ApplyRejudging gives each original its new report. The old report is kept with the job that judged again. A job keeps
// its report if the new one has no verdict on the program, such as IE, or if either job was cancelled or deleted. A
// repeated call changes nothing, except that it completes an interrupted one. ApplyRejudging returns ErrFinal if jobs
// are not judged yet, and after a cancellation.
func (s *Store) ApplyRejudging(ctx context.Context, id string) error {
	v, err := s.Rejudging(ctx, id)
	if err != nil {
		return err
	}
	switch v.State {
	case api.RejudgingFilling:
		return fmt.Errorf("apply rejudging %q: its jobs are not queued yet: %w", id, api.ErrFinal)
	case api.RejudgingFailed:
		return fmt.Errorf("apply rejudging %q: it failed: %w", id, api.ErrFinal)
	case api.RejudgingJudging:
		return fmt.Errorf("apply rejudging %q: %d of %d jobs are not judged yet: %w", id, v.Jobs-v.Judged, v.Jobs,
			api.ErrFinal)
	case api.RejudgingReady:
		if err := s.closeRejudging(ctx, "apply", id, rejudgingApplied, rejudgingOpen); err != nil {
			return err
		}
	case api.RejudgingCancelled:
		return fmt.Errorf("apply rejudging %q: it was cancelled: %w", id, api.ErrFinal)
	}
	return s.CompleteRejudging(ctx, id)
}

// CancelRejudging ends a rejudging without changing reports, and cancels its unfinished jobs. A repeated call changes
// nothing. CancelRejudging returns ErrFinal if the rejudging was applied or has failed.
func (s *Store) CancelRejudging(ctx context.Context, id string) error {
	if _, err := s.rejudging(ctx, id); err != nil {
		return err
	}
	if err := s.closeRejudging(ctx, "cancel", id, rejudgingCancelled, rejudgingFilling); err != nil {
		return err
	}
	return s.CompleteRejudging(ctx, id)
}

// CompleteRejudging completes the application or cancellation of a rejudging if the call that started it was
// interrupted. Calls may overlap.
func (s *Store) CompleteRejudging(ctx context.Context, id string) error {
	row, err := s.rejudging(ctx, id)
	if err != nil {
		return err
	}
	if row.progress == "" {
		return nil
	}
	var batch func(context.Context, string) (int, error)
	switch row.state {
	case rejudgingApplied:
		batch = s.applyBatch
	case rejudgingCancelled:
		batch = s.cancelBatch
	default:
		return nil
	}
	for {
		n, err := batch(ctx, id)
		if err != nil {
			return err
		}
		if n == 0 {
			_, err = s.exec(ctx, "set rejudging", `UPDATE rejudgings SET progress = '' WHERE id = ?1 AND state = ?2`, id,
				row.state)
			return err
		}
	}
}

// cancelBatch cancels some unfinished jobs of a rejudging and returns their number.
func (s *Store) cancelBatch(ctx context.Context, id string) (int, error) {
	var unfinished []string
	err := s.rows(ctx, s.read, query{"read rejudging", `SELECT r.id FROM rejudged r JOIN jobs j ON j.id = r.id
WHERE r.rejudging = ?1 AND +j.state < 2 LIMIT ?2`, []any{id, applyBatch}}, func(rows *sql.Rows) error {
		var again string
		err := rows.Scan(&again)
		unfinished = append(unfinished, again)
		return err
	})
	for _, again := range unfinished {
		if _, failed := s.Cancel(ctx, again); failed != nil && !errors.Is(failed, api.ErrFinal) &&
			!errors.Is(failed, api.ErrNotFound) {
			return 0, failed
		}
	}
	return len(unfinished), err
}

// closeRejudging ends a rejudging that is open or has the state from.
func (s *Store) closeRejudging(ctx context.Context, verb, id string, state, from int) error {
	n, err := s.exec(ctx, verb+" rejudging", `UPDATE rejudgings SET state = ?1, ended = ?2, progress = ?3
WHERE id = ?4 AND state IN (?5, ?6)`, state, s.now().UnixNano(), workLeft, id, rejudgingOpen, from)
	if err != nil || n == 1 {
		return err
	}
	row, err := s.rejudging(ctx, id)
	if err == nil && row.state != state {
		err = fmt.Errorf("%s rejudging %q: it was applied, cancelled, or it failed: %w", verb, id, api.ErrFinal)
	}
	return err
}

// applyBatch replaces the reports of some jobs and returns the number of jobs that it handled.
func (s *Store) applyBatch(ctx context.Context, id string) (n int, err error) {
	err = s.tx(ctx, "apply rejudging", func(ctx context.Context, tx *sql.Tx) error {
		pairs, err := s.unapplied(ctx, tx, id)
		if err != nil {
			return err
		}
		n = len(pairs)
		for _, p := range pairs {
			if err := s.replaceReport(ctx, tx, id, p); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

func (s *Store) unapplied(ctx context.Context, tx *sql.Tx, id string) (pairs []api.RejudgedReport, err error) {
	found, err := tx.QueryContext(ctx, s.driver.sql(
		`SELECT original, id FROM rejudged WHERE rejudging = ?1 AND state = 0 ORDER BY original LIMIT ?2`), id, applyBatch)
	if err != nil {
		return nil, err
	}
	return pairs, each(found, func(rows *sql.Rows) error {
		var p api.RejudgedReport
		err := rows.Scan(&p.Job, &p.Again)
		pairs = append(pairs, p)
		return err
	})
}

// judgedJob is a job with the columns that a rejudging exchanges.
type judgedJob struct {
	row
	tests, outputs []byte
}

// replaceReport exchanges the reports of an original and of the job that judged it again, once.
func (s *Store) replaceReport(ctx context.Context, tx *sql.Tx, id string, p api.RejudgedReport) error {
	claim, err := tx.ExecContext(ctx, s.driver.sql(`UPDATE rejudged SET state = ?1 WHERE id = ?2 AND state = 0`),
		rejudgedLeft, p.Again)
	if err != nil {
		return err
	}
	if n, err := claim.RowsAffected(); err != nil || n == 0 {
		return err
	}
	pair := map[string]judgedJob{}
	found, err := tx.QueryContext(ctx, s.driver.sql(
		`SELECT `+rowColumns+`, tests, outputs FROM jobs WHERE id IN (?1, ?2) ORDER BY id {hold}`), p.Job, p.Again)
	if err != nil {
		return err
	}
	err = each(found, func(rows *sql.Rows) error {
		var j judgedJob
		err := rows.Scan(append(j.fields(), &j.tests, &j.outputs)...)
		pair[j.id] = j
		return err
	})
	if err != nil {
		return err
	}
	original, again := pair[p.Job], pair[p.Again]
	state := rejudgedLeft
	if original.state == done && again.state == done && api.Verdict(again.verdict).Decided() {
		state = rejudgedReplaced
		if err := s.exchange(ctx, tx, id, original, again); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, s.driver.sql(`UPDATE rejudged SET state = ?1, new_verdict = ?2 WHERE id = ?3`), state,
		again.verdict, p.Again)
	return err
}

func (s *Store) exchange(ctx context.Context, tx *sql.Tx, id string, original, again judgedJob) error {
	rep, err := again.report()
	if err != nil {
		return err
	}
	rep.Rejudging = &api.AppliedRejudging{ID: id, Job: again.id, PreviousVerdict: api.Verdict(original.verdict),
		AppliedAt: s.now().Truncate(time.Millisecond)}
	head, err := headOf(rep)
	if err != nil {
		return fmt.Errorf("encode the report of job %q: %w", original.id, err)
	}
	update := s.driver.sql(`UPDATE jobs SET verdict = ?1, started = ?2, finished = ?3, head = ?4, tests = ?5, outputs = ?6
WHERE seq = ?7`)
	_, err = tx.ExecContext(ctx, update, again.verdict, again.started, again.finished, head, again.tests, again.outputs,
		original.seq)
	if err == nil {
		_, err = tx.ExecContext(ctx, update, original.verdict, original.started, original.finished, original.head,
			original.tests, original.outputs, again.seq)
	}
	return err
}
