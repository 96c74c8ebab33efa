package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"judged/internal/base/job"
)

// The number of an event is attempt<<20 + n: the n-th test of the attempt, 0 for
// its beginning and lastOfAttempt for the end of the job. What comes before the
// first attempt is the queueing, 1.
const (
	attemptBits   = 20
	lastOfAttempt = 1<<attemptBits - 1
	queuedNumber  = 1
)

func number(attempt, n int) uint64 { return uint64(attempt)<<attemptBits + uint64(n) }

// follow calls look with the job now and after each change, until that reports
// true, or an error, or ctx is done.
func (s *Store) follow(ctx context.Context, id string, look func(row) (bool, error)) error {
	poll := time.NewTicker(2 * s.opts.poll) // there may be thousands of watchers
	defer poll.Stop()
	for {
		changed, release := s.hub.watch(id) // before looking: what comes after is seen
		r, err := s.glance(ctx, id)
		ended := false
		if err == nil {
			ended, err = look(r)
		}
		if ended || err != nil {
			release()
			return err
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
			err = fmt.Errorf("follow job %q: %w", id, ctx.Err())
		}
		release()
		if err != nil {
			return err
		}
	}
}

// Wait returns the report of a job when it has ended, or as it is when ctx is
// done.
func (s *Store) Wait(ctx context.Context, id string) (job.Report, error) {
	err := s.follow(ctx, id, func(r row) (bool, error) { return r.state >= done, nil })
	if err != nil && ctx.Err() == nil {
		return job.Report{}, err
	}
	rec, err := s.Get(context.WithoutCancel(ctx), id)
	return rec.Report, err
}

// errStopped ends a feed whose reader has gone.
var errStopped = errors.New("reader stopped")

// Events yields a job's events with numbers above after: those that were, then
// those that come, in order, each once. It ends after the final event, with an
// error, or when ctx is done (then without one). An attempt that failed and was
// followed by another one is told only while it lasts.
func (s *Store) Events(ctx context.Context, id string, after uint64) iter.Seq2[job.Event, error] {
	return func(yield func(job.Event, error) bool) {
		tell := func(e job.Event) error {
			if e.Seq <= after {
				return nil
			}
			if !yield(e, nil) {
				return errStopped
			}
			after = e.Seq
			return nil
		}
		err := s.follow(ctx, id, func(r row) (bool, error) { return r.state >= done, s.tellEvents(ctx, r, &after, tell) })
		if err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
			yield(job.Event{}, err)
		}
	}
}

// tellEvents tells the events that a job has now.
func (s *Store) tellEvents(ctx context.Context, r row, after *uint64, tell func(job.Event) error) error {
	if err := tell(job.Event{Seq: queuedNumber, Job: r.id, Type: job.EventQueued, At: timeOf(r.created)}); err != nil {
		return err
	}
	if r.started != 0 {
		if err := tell(job.Event{Seq: number(r.attempt, 0), Job: r.id, Type: job.EventRunning, At: timeOf(r.started), CPUs: r.cpus}); err != nil {
			return err
		}
	}
	switch r.state {
	case running:
		events, err := s.testEvents(ctx, r, *after)
		for _, e := range events {
			e.Test.Runs = nil
			if err := tell(e); err != nil {
				return err
			}
		}
		return err
	case done, cancelled:
		return s.tellEnd(ctx, r, tell)
	}
	return nil
}

const selectEvents = `SELECT body FROM events WHERE job = ?1 AND number > ?2 AND number < ?3 ORDER BY number`

// eventArgs are the arguments of selectEvents for the current attempt.
func eventArgs(r row, after uint64) []any {
	return []any{r.seq, int64(max(after, number(r.attempt, 0))), int64(number(r.attempt, lastOfAttempt))}
}

// scanEvent decodes a row of selectEvents.
func scanEvent(id string, f func(job.Event)) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var body []byte
		var e job.Event
		if err := rows.Scan(&body); err != nil {
			return err
		}
		if err := unpackJSON(body, &e); err != nil {
			return fmt.Errorf("decode an event of job %q: %w", id, err)
		}
		f(e)
		return nil
	}
}

// testEvents reads the events of a job's current attempt above after. Their
// tests have all runs.
func (s *Store) testEvents(ctx context.Context, r row, after uint64) (events []job.Event, err error) {
	err = s.rows(ctx, s.read, query{"read events", selectEvents, eventArgs(r, after)},
		scanEvent(r.id, func(e job.Event) { events = append(events, e) }))
	return events, err
}

// testsSoFar is what a running job's report shows of its tests.
func (s *Store) testsSoFar(ctx context.Context, r row) (tests []job.TestReport, err error) {
	events, err := s.testEvents(ctx, r, 0)
	for _, e := range events {
		tests = append(tests, *e.Test)
	}
	return tests, err
}

// tellEnd tells the tests of a job that has ended, from its report, and its end.
func (s *Store) tellEnd(ctx context.Context, r row, tell func(job.Event) error) error {
	rec, err := s.Get(ctx, r.id)
	if err != nil {
		return err
	}
	rep := rec.Report
	for i, t := range rep.Tests {
		t.Runs = nil
		if err := tell(testEvent(rec.Lease, i+1, t, rep.FinishedAt)); err != nil {
			return err
		}
	}
	last := job.Event{Seq: number(r.attempt, lastOfAttempt), Job: r.id, Type: job.EventDone, At: rep.FinishedAt, Report: &rep}
	if r.state == cancelled {
		last.Type = job.EventCancelled
	}
	return tell(last)
}

func testEvent(l Lease, n int, t job.TestReport, at time.Time) job.Event {
	return job.Event{Seq: number(l.Attempt, n), Job: l.ID, Type: job.EventTest, At: at, Test: &t}
}

// Emit reports that the n-th test of an attempt, from 1, has been judged. It does
// not wait: the event is stored soon, unless the attempt has lost the job by
// then, and the report will hold the test durably.
func (s *Store) Emit(l Lease, n int, t job.TestReport) error {
	if n < 1 || n >= lastOfAttempt {
		return fmt.Errorf("emit test %d of job %q: not a number of a test", n, l.ID)
	}
	e := testEvent(l, n, t, s.now())
	body, err := packJSON(e)
	if err != nil {
		return fmt.Errorf("encode an event of job %q: %w", l.ID, err)
	}
	s.outbox.put(told{lease: l, number: int64(e.Seq), body: body})
	return nil
}
