package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"judged/internal/api"
)

// The number of an event is attempt<<20 + n for the n-th test of the attempt, with
// n = 0 for the start of the attempt and lastOfAttempt for the end of the job.
// The event queued has number 1.
const (
	attemptBits   = 20
	lastOfAttempt = 1<<attemptBits - 1
	queuedNumber  = 1
)

func number(attempt, n int) uint64 { return uint64(attempt)<<attemptBits + uint64(n) }

// MayHaveSent reports whether an event with this number may have been sent. A reader has a higher number if the job was
// deleted and put again, or if a backup was restored: it would miss all events up to that number, even the last one.
func (r Record) MayHaveSent(event uint64) bool {
	end := number(r.Lease.Attempt, lastOfAttempt)
	return event < end || event == end && r.Report.State.Final()
}

// follow calls look with the current row and after each change, until look returns true or an error, or ctx is done.
func (s *Store) follow(ctx context.Context, id string, look func(row) (bool, error)) error {
	poll := time.NewTicker(2 * s.opts.poll) // infrequent, because there may be thousands of watchers
	defer poll.Stop()
	for {
		_, changed, release := s.notifier.watch(id) // before reading, so that no change is missed
		r, err := s.readRow(ctx, id)
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

// Wait returns the report of a job once it has ended, or the current report when ctx is done. While it waits, it reads
// only the state of the job.
func (s *Store) Wait(ctx context.Context, id string) (api.Report, error) {
	poll := time.NewTicker(2 * s.opts.poll) // a notification may be lost while the database is down
	defer poll.Stop()
	for ctx.Err() == nil {
		w, _, release := s.notifier.watch(id) // before reading, so that no end is missed
		r, err := s.readRow(context.WithoutCancel(ctx), id)
		if err != nil {
			release()
			return api.Report{}, err
		}
		if r.state >= done {
			release()
			break
		}
		rep, found := s.await(ctx, w, r.created, poll.C)
		release()
		if found {
			return rep, nil
		}
	}
	rec, err := s.Get(context.WithoutCancel(ctx), id)
	return rec.Report, err
}

// Expect returns a function like Wait for a job that the caller puts after Expect, whose argument is the report that Put
// returned. The function reads the database only if another process ends the job, or if it takes long. Call release.
func (s *Store) Expect(id string) (wait func(context.Context, api.Report) (api.Report, error), release func()) {
	w, _, release := s.notifier.watch(id)
	return func(ctx context.Context, put api.Report) (api.Report, error) {
		poll := time.NewTimer(2 * s.opts.poll)
		defer poll.Stop()
		if rep, found := s.await(ctx, w, put.CreatedAt.UnixNano(), poll.C); found {
			return rep, nil
		}
		return s.Wait(ctx, id)
	}, release
}

// finalReport is the report of a job as Finish has stored it.
type finalReport struct {
	row            row
	tests, outputs []byte
	deletions      int64 // value of notifier.deletions before it was stored
}

// await waits for the end of the job that was created at a time. It returns the report if that is in memory.
func (s *Store) await(ctx context.Context, w *watch, created int64, poll <-chan time.Time) (rep api.Report, found bool) {
	select {
	case <-w.ended:
	case <-poll:
	case <-ctx.Done():
	}
	select { // also if it ended while this goroutine had no CPU until poll
	case <-w.ended:
	default:
		return rep, false
	}
	f := w.final
	if f == nil || f.row.created != created || f.deletions != s.notifier.deletions.Load() {
		return rep, false
	}
	rep, err := f.row.reportWith(f.tests, f.outputs)
	return rep, err == nil && !hidden(ctx, rep.Tenant)
}

// errStopped ends an iteration whose caller stopped it.
var errStopped = errors.New("reader stopped")

// Events yields the events of a job with numbers greater than after, past and future ones, in order, each once. It ends
// after the final event, on an error, or when ctx is done. Events of a failed attempt are yielded only until the next
// attempt starts.
func (s *Store) Events(ctx context.Context, id string, after uint64) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		send := func(e api.Event) error {
			if e.Seq <= after {
				return nil
			}
			if !yield(e, nil) {
				return errStopped
			}
			after = e.Seq
			return nil
		}
		err := s.follow(ctx, id, func(r row) (bool, error) {
			return r.state >= done, s.yieldEvents(ctx, r, &after, send)
		})
		if err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
			yield(api.Event{}, err)
		}
	}
}

// yieldEvents yields the current events of a job.
func (s *Store) yieldEvents(ctx context.Context, r row, after *uint64, send func(api.Event) error) error {
	if err := send(api.Event{Seq: queuedNumber, Job: r.id, Type: api.EventQueued, At: timeOf(r.created)}); err != nil {
		return err
	}
	if r.started != 0 {
		if err := send(api.Event{Seq: number(r.attempt, 0), Job: r.id, Type: api.EventRunning, At: timeOf(r.started),
			CPUs: r.cpus}); err != nil {
			return err
		}
	}
	switch r.state {
	case running:
		events, err := s.testEvents(ctx, r, *after)
		for _, e := range events {
			e.Test = new(e.Test.WithoutRuns())
			if err := send(e); err != nil {
				return err
			}
		}
		return err
	case done, cancelled:
		return s.yieldEnd(ctx, r, send)
	}
	return nil
}

const selectEvents = `SELECT body FROM events WHERE job = ?1 AND number > ?2 AND number < ?3 ORDER BY number`

// eventArgs returns the arguments of selectEvents for the current attempt.
func eventArgs(r row, after uint64) []any {
	return []any{r.seq, int64(max(after, number(r.attempt, 0))), int64(number(r.attempt, lastOfAttempt))}
}

// scanEvent decodes a row of selectEvents.
func scanEvent(id string, f func(api.Event)) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var body []byte
		var e api.Event
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

// testEvents returns the test events of a job's current attempt after a number. Their tests include all runs.
func (s *Store) testEvents(ctx context.Context, r row, after uint64) (events []api.Event, err error) {
	err = s.rows(ctx, s.read, query{"read events", selectEvents, eventArgs(r, after)},
		scanEvent(r.id, func(e api.Event) { events = append(events, e) }))
	return events, err
}

// testsSoFar returns the finished tests of a running job.
func (s *Store) testsSoFar(ctx context.Context, r row) (tests []api.TestReport, err error) {
	events, err := s.testEvents(ctx, r, 0)
	for _, e := range events {
		tests = append(tests, *e.Test)
	}
	return tests, err
}

// yieldEnd yields the tests of an ended job from its report, and the final event.
func (s *Store) yieldEnd(ctx context.Context, r row, send func(api.Event) error) error {
	rec, err := s.Get(ctx, r.id)
	if err != nil {
		return err
	}
	rep := rec.Report
	for i, t := range rep.Tests {
		if err := send(testEvent(rec.Lease, i+1, t.WithoutRuns(), rep.FinishedAt)); err != nil {
			return err
		}
	}
	last := api.Event{Seq: number(r.attempt, lastOfAttempt), Job: r.id, Type: api.EventDone, At: rep.FinishedAt,
		Report: &rep}
	if r.state == cancelled {
		last.Type = api.EventCancelled
	}
	return send(last)
}

func testEvent(l api.Lease, n int, t api.TestReport, at time.Time) api.Event {
	return api.Event{Seq: number(l.Attempt, n), Job: l.ID, Type: api.EventTest, At: at, Test: &t}
}

// Emit announces the n-th test of an attempt, counted from 1. It does not block. The event is stored within
// deliverEvery, unless the attempt has lost the job by then. Only the report stores the test durably.
func (s *Store) Emit(l api.Lease, n int, t api.TestReport) error {
	if n < 1 || n >= lastOfAttempt {
		return fmt.Errorf("emit test %d of job %q: invalid test number", n, l.ID)
	}
	e := testEvent(l, n, t, s.now())
	body, err := packJSON(e)
	if err != nil {
		return fmt.Errorf("encode an event of job %q: %w", l.ID, err)
	}
	s.outbox.put(bufferedEvent{lease: l, number: int64(e.Seq), body: body})
	return nil
}
