package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
)

// "+state" keeps a statement about one job from using the index of states. With outdated statistics, the planner
// estimates fewer running jobs than jobs with the ID.
const (
	extendJob = `UPDATE jobs SET due = ?1, parked = CASE WHEN parked = 0 THEN ?1 ELSE parked END
WHERE id = ?2 AND attempt = ?3 AND +state = 1`
	returnJob = `UPDATE jobs SET state = 0, due = ?1, parked = ?5, excused = excused + ?2, started = 0, host = '', cpus = '',
	head = COALESCE(?6, head)
WHERE id = ?3 AND attempt = ?4 AND +state = 1 RETURNING pool, width, priority, turn, seq`
	finishJob = `UPDATE jobs SET state = 2, parked = 0, verdict = ?1, finished = ?2, head = ?3, tests = ?4, outputs = ?7
WHERE id = ?5 AND attempt = ?6 AND +state = 1 RETURNING tenant, ` + rowColumns
	cancelJob = `UPDATE jobs SET state = 3, parked = 0, verdict = ?1, finished = ?2 WHERE id = ?3 AND +state < 2
	AND (?4 = '' OR tenant = ?4)
RETURNING ` + rowColumns
)

// Extend extends a lease to Options.Lease from now. Call it every third of that. It returns ErrFinal if the job was
// cancelled, and ErrStale if the lease was lost; the caller then stops the run.
func (s *Store) Extend(ctx context.Context, l api.Lease) (until time.Time, err error) {
	until = s.now().Add(s.opts.Lease)
	n, err := s.exec(ctx, "extend lease", extendJob, until.UnixNano(), l.ID, l.Attempt)
	if err == nil && n == 0 {
		err = s.fenced(ctx, "extend", l)
	}
	return until, err
}

// maxReason limits the reason of a returned job, in bytes.
const maxReason = 1 << 10

// Return queues a job again.
func (s *Store) Return(ctx context.Context, l api.Lease, back api.Returned) error {
	more := 0
	if back.Uncounted {
		more = 1
	}
	head, err := s.headBecause(ctx, l, back.Reason)
	if err != nil {
		return err
	}
	due, parked := int64(atOnce), int64(0)
	if back.Delay > 0 {
		due = s.now().Add(back.Delay).UnixNano()
		parked = due
	}
	var k slotClass
	var priority int
	var place position
	found := false
	err = s.rows(ctx, s.write, query{"return job", returnJob, []any{due, more, l.ID, l.Attempt, parked, head}},
		func(rows *sql.Rows) error {
			found = true
			return rows.Scan(&k.pool, &k.width, &priority, &place.turn, &place.seq)
		})
	if err != nil {
		return err
	}
	if !found {
		return s.fenced(ctx, "return", l)
	}
	s.notifyJob(l.ID)
	if back.Delay <= 0 {
		s.notifier.back(k.pool, priority, place)
		s.notifyWork(k)
	}
	return nil
}

// headBecause returns the value of the column head for a job that is returned with a reason, or nil without a reason.
func (s *Store) headBecause(ctx context.Context, l api.Lease, reason string) ([]byte, error) {
	if reason == "" {
		return nil, nil
	}
	r, err := s.readRowTo(ctx, "return job", l.ID)
	if err != nil {
		return nil, err
	}
	rep, err := r.report()
	if err != nil {
		return nil, err
	}
	rep.Message = strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
	return headOf(rep)
}

// Finish stores the report of an attempt and ends the job, once. The attempt may repeat the call if the response was
// lost. ID, labels, attempt and times come from the job, not from rep: the clocks of hosts differ. Finish returns
// ErrFinal if the job was cancelled or finished by another attempt, and ErrStale if another attempt has it.
func (s *Store) Finish(ctx context.Context, l api.Lease, rep api.Report) error {
	head, err := headOf(rep)
	if err != nil {
		return fmt.Errorf("encode the report of job %q: %w", l.ID, err)
	}
	tests, err := packJSON(rep.Tests)
	if err != nil {
		return fmt.Errorf("encode the report of job %q: %w", l.ID, err)
	}
	outputs, err := packOutputs(rep)
	if err != nil {
		return fmt.Errorf("encode the report of job %q: %w", l.ID, err)
	}
	final := finalReport{tests: tests, outputs: outputs, deletions: s.notifier.deletions.Load()}
	tenant := ""
	args := []any{string(rep.Verdict), s.now().UnixNano(), head, tests, l.ID, l.Attempt, outputs}
	err = s.share(ctx, &write{operation: "finish job", texts: []string{finishJob}, run: func(do statementRunner) error {
		final.row = row{}
		return do(finishJob, args, func(rows *sql.Rows) error {
			return rows.Scan(append([]any{&tenant}, final.row.fields()...)...)
		})
	}})
	if err != nil {
		return err
	}
	if final.row.seq == 0 {
		return s.fenced(ctx, "finish", l)
	}
	if final.row.priority != auditPriority {
		s.charge(tenant, cpuOf(rep.Tests))
	}
	s.ended(l.ID, final.row.seq, &final)
	return nil
}

// Cancel ends a queued or running job and returns its report with the tests judged so far. The holder learns of it from
// Lost or Extend. Cancel returns ErrFinal if the job has already ended; then the report has no tests.
func (s *Store) Cancel(ctx context.Context, id string) (api.Report, error) {
	if !ValidStoredID(id) {
		return api.Report{}, fmt.Errorf("cancel job %q: %w", id, api.ErrNotFound)
	}
	for {
		r, tests, err := s.cancel(ctx, id)
		if err != nil {
			return api.Report{}, err
		}
		if r.id != "" {
			s.ended(id, r.seq, nil)
			rep, err := r.report()
			rep.Tests = tests
			s.charge(rep.Tenant, cpuOf(tests))
			return rep, err
		}
		if r, err = s.readRow(ctx, id); err != nil {
			return api.Report{}, err
		}
		if r.state >= done {
			rep, err := r.report()
			return rep, errors.Join(fmt.Errorf("cancel job %q: %w", id, api.ErrFinal), err)
		}
		// The job was put after the first statement.
	}
}

// cancel ends a job in one transaction and moves the tests from its events to its report. The row is empty if there was
// nothing to cancel.
func (s *Store) cancel(ctx context.Context, id string) (r row, tests []api.TestReport, err error) {
	update := s.driver.sql(cancelJob)
	keep := s.driver.sql(`UPDATE jobs SET tests = ?1 WHERE seq = ?2`)
	err = s.tx(ctx, "cancel job", func(ctx context.Context, tx *sql.Tx) error {
		found, err := tx.QueryContext(ctx, update, string(api.Cancelled), s.now().UnixNano(), id, TenantOf(ctx))
		if err != nil {
			return err
		}
		if err := each(found, func(rows *sql.Rows) error { return rows.Scan(r.fields()...) }); err != nil ||
			r.started == 0 {
			return err
		}
		if found, err = tx.QueryContext(ctx, s.driver.sql(selectEvents), eventArgs(r, 0)...); err != nil {
			return err
		}
		err = each(found, scanEvent(r.id, func(e api.Event) { tests = append(tests, *e.Test) }))
		if err != nil || len(tests) == 0 {
			return err
		}
		packed, err := packJSON(tests)
		if err == nil {
			_, err = tx.ExecContext(ctx, keep, packed, r.seq)
		}
		return err
	})
	return r, tests, err
}

// ended updates the state in memory when a job has ended.
func (s *Store) ended(id string, seq int64, final *finalReport) {
	s.capacity.jobLeft()
	s.outbox.deleteLater(seq)
	s.notifyEnd(id, final)
}

// fenced returns the reason why an operation with a lease changed nothing, or nil if the lease had made the same change
// before.
func (s *Store) fenced(ctx context.Context, verb string, l api.Lease) error {
	r, err := s.readRow(ctx, l.ID)
	switch {
	case err != nil:
		return err
	case verb == "finish" && r.state == done && r.attempt == l.Attempt:
		return nil
	case r.state >= done:
		return fmt.Errorf("%s job %q: %w", verb, l.ID, api.ErrFinal)
	}
	return fmt.Errorf("%s job %q in attempt %d, now in attempt %d and %s: %w", verb, l.ID, l.Attempt, r.attempt,
		states[r.state], api.ErrStale)
}

// Holder returns the host that holds the job of a lease. It returns ErrStale if another attempt has the job, and
// ErrFinal if another attempt has ended it.
func (s *Store) Holder(ctx context.Context, l api.Lease) (host string, err error) {
	r, err := s.readRow(ctx, l.ID)
	if err == nil && (r.attempt != l.Attempt || r.state == queued || r.state == cancelled) {
		err = s.fenced(ctx, "hold", l)
	}
	return r.host, err
}

// Held returns how many jobs a host has, those whose lease has expired included until another host takes them.
func (s *Store) Held(ctx context.Context, host string) (n int, err error) {
	err = s.rows(ctx, s.read, query{"count the jobs of a host", `SELECT COUNT(*) FROM jobs
WHERE finished = 0 AND host <> '' AND host = ?1 AND +state = 1`, []any{host}},
		func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// lostAfter is when Lost looks at the job for the first time. Most jobs have ended by then.
const lostAfter = 50 * time.Millisecond

// Lost waits until an attempt no longer holds its job and returns the same error as Extend. If ctx is done first, it
// returns the error of ctx. It also detects a Cancel by another process.
func (s *Store) Lost(ctx context.Context, l api.Lease) error {
	poll.Sleep(ctx, lostAfter)
	return s.follow(ctx, l.ID, func(r row) (bool, error) {
		if r.state == running && r.attempt == l.Attempt {
			return false, nil
		}
		return true, s.fenced(ctx, "hold", l)
	})
}
