package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"judged/internal/api"
)

// FeedPosition is a position in the feed. One row of the feed may yield several events.
type FeedPosition struct {
	Row  int64
	Part int // number of events of the row up to this position; 0 means all
}

// FeedEvent is an event of any job.
type FeedEvent struct {
	FeedPosition
	api.Event
	JSON []byte // encoding of Event
}

const (
	// feedPage is the number of rows of the feed that one statement reads.
	feedPage = 32
	// feedAge is how long the feed keeps the events of a job after it has ended, unless the job is deleted earlier.
	feedAge = 24 * time.Hour
	// feedWindow is the number of rows that one statement examines for deletion.
	feedWindow = 2000
)

// settled returns a position such that no event can appear at or before it any more. Positions are assigned before
// transactions commit; PostgreSQL may commit them in any order.
func (s *Store) settled(ctx context.Context) (int64, error) {
	if s.driver.settled == nil {
		return math.MaxInt64, nil
	}
	upTo, err := s.driver.settled(ctx)
	return upTo, s.explain(ctx, "read feed", err)
}

// feedRange is the part of the feed after one position and up to another.
type feedRange struct{ after, last int64 }

const feedPageRange = `SELECT COALESCE(MIN(position), 0), COALESCE(MAX(position), 0), COUNT(*)
FROM (SELECT position FROM feed WHERE position >= ?1 AND position <= ?2 ORDER BY position LIMIT ?3) AS page`

// feedPage returns the range of the next rows after a position, and whether there may be more. It returns ErrNoPosition
// if the feed does not have the position, because later ones may be missing, too.
func (s *Store) feedPage(ctx context.Context, after, upTo int64) (r feedRange, more bool, err error) {
	var first int64
	var n int
	err = s.rows(ctx, s.read, query{"read feed", feedPageRange, []any{after, max(after, upTo), feedPage + 1}},
		func(rows *sql.Rows) error { return rows.Scan(&first, &r.last, &n) })
	if err == nil && (n == 0 || first != after) {
		err = fmt.Errorf("read the feed after %d: %w", after, ErrNoPosition)
	}
	r.after = after
	return r, n > feedPage, err
}

// oldestInFeed returns the oldest position.
func (s *Store) oldestInFeed(ctx context.Context) (at int64, err error) {
	err = s.rows(ctx, s.read, query{"read feed", `SELECT MIN(position) FROM feed`, nil},
		func(rows *sql.Rows) error { return rows.Scan(&at) })
	return at, err
}

// newestInFeed returns the newest settled position.
func (s *Store) newestInFeed(ctx context.Context) (at int64, err error) {
	upTo, err := s.settled(ctx)
	if err != nil {
		return 0, err
	}
	err = s.rows(ctx, s.read, query{"read feed", `SELECT MAX(position) FROM feed WHERE position <= ?1`, []any{upTo}},
		func(rows *sql.Rows) error { return rows.Scan(&at) })
	return at, err
}

// feedRow is a row of the feed with its job.
type feedRow struct {
	position, number int64
	job              row
	body             []byte // event of a test that is still in the table events
}

func (r *feedRow) attempt() int { return int(r.number >> attemptBits) }
func (r *feedRow) n() int       { return int(r.number & lastOfAttempt) }
func (r *feedRow) ended() bool  { return r.job.state >= done }

var selectFeed = `SELECT f.position, f.number, e.body, ` + rowColumnsOfJ + `
FROM feed f JOIN jobs j ON j.seq = f.job LEFT JOIN events e ON e.job = f.job AND e.number = f.number
WHERE f.position > ?1 AND f.position <= ?2 AND +j.priority < ?3 ORDER BY f.position`

// feedEvents returns the events of a range. It omits events of attempts that have lost their job.
func (s *Store) feedEvents(ctx context.Context, part feedRange) ([]*FeedEvent, error) {
	var found []feedRow
	err := s.rows(ctx, s.read, query{"read feed", selectFeed, []any{part.after, part.last, auditPriority}},
		func(rows *sql.Rows) error {
			var r feedRow
			err := rows.Scan(append([]any{&r.position, &r.number, &r.body}, r.job.fields()...)...)
			found = append(found, r)
			return err
		})
	if err != nil {
		return nil, err
	}
	page := feedDecoder{store: s, jobs: map[int64]*endedJob{}}
	for _, r := range found {
		if r.number != queuedNumber && r.attempt() != r.job.attempt {
			continue
		}
		first := len(page.events)
		if err := page.add(ctx, &r); err != nil {
			return nil, err
		}
		for i := first; i < len(page.events)-1; i++ {
			page.events[i].Part = i - first + 1
		}
	}
	return page.events, nil
}

// feedDecoder decodes the events of a range.
type feedDecoder struct {
	store  *Store
	events []*FeedEvent
	jobs   map[int64]*endedJob // by sequence number
}

// endedJob holds the data of an ended job from the feed and from its report.
type endedJob struct {
	tests     []json.RawMessage
	positions map[int64]int64 // positions of the events of the last attempt by number
}

func (j *endedJob) lastPosition(r *feedRow) int64 {
	return j.positions[int64(number(r.job.attempt, lastOfAttempt))]
}

func (d *feedDecoder) add(ctx context.Context, r *feedRow) error {
	e := api.Event{Seq: uint64(r.number), Job: r.job.id}
	switch {
	case r.number == queuedNumber:
		e.Type, e.At = api.EventQueued, timeOf(r.job.created)
	case r.n() == 0:
		if r.job.started == 0 { // returned to the queue
			return nil
		}
		e.Type, e.At, e.CPUs = api.EventRunning, timeOf(r.job.started), r.job.cpus
	case r.n() == lastOfAttempt:
		return d.addEnd(ctx, r, e)
	default:
		return d.addTest(ctx, r)
	}
	return d.put(r, e)
}

func (d *feedDecoder) put(r *feedRow, e api.Event) error {
	if r.job.labels != "" {
		if err := json.Unmarshal([]byte(r.job.labels), &e.Labels); err != nil {
			return fmt.Errorf("decode the labels of job %q: %w", r.job.id, err)
		}
		e.Tenant = e.Labels[TenantLabel]
		delete(e.Labels, TenantLabel)
	}
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode an event of job %q: %w", r.job.id, err)
	}
	d.events = append(d.events, &FeedEvent{FeedPosition{Row: r.position}, e, text})
	return nil
}

// addTest adds a test from its event or, after the end of the job, from the report. It omits a test whose event was
// stored after the end, because addEnd adds it.
func (d *feedDecoder) addTest(ctx context.Context, r *feedRow) error {
	if r.ended() {
		j, err := d.endedJob(ctx, r)
		if err != nil || r.position > j.lastPosition(r) {
			return err
		}
		return d.addReported(r, j, r.n())
	}
	if r.body == nil {
		return nil
	}
	var e api.Event
	if err := unpackJSON(r.body, &e); err != nil {
		return fmt.Errorf("decode an event of job %q: %w", r.job.id, err)
	}
	e.Test = new(e.Test.WithoutRuns())
	return d.put(r, e)
}

// addReported adds the n-th test of the report.
func (d *feedDecoder) addReported(r *feedRow, j *endedJob, n int) error {
	if n > len(j.tests) {
		return nil
	}
	var t api.TestReport
	if err := json.Unmarshal(j.tests[n-1], &t); err != nil {
		return fmt.Errorf("decode the tests of job %q: %w", r.job.id, err)
	}
	return d.put(r, testEvent(api.Lease{ID: r.job.id, Attempt: r.job.attempt}, n, t.WithoutRuns(), timeOf(r.job.finished)))
}

// addEnd adds the final event, whose report has no tests. Before it, addEnd adds the tests that have no row, because a
// job may end before its last events are stored. A rejudging that is applied adds another final event.
func (d *feedDecoder) addEnd(ctx context.Context, r *feedRow, e api.Event) error {
	if !r.ended() {
		return nil
	}
	j, err := d.endedJob(ctx, r)
	if err != nil {
		return err
	}
	if r.position == j.lastPosition(r) {
		for i := range j.tests {
			if at, found := j.positions[int64(number(r.job.attempt, i+1))]; found && at < r.position {
				continue
			}
			if err := d.addReported(r, j, i+1); err != nil {
				return err
			}
		}
	}
	rep, err := r.job.report()
	if err != nil {
		return err
	}
	e.Type, e.At, e.Report = api.EventDone, rep.FinishedAt, &rep
	if r.job.state == cancelled {
		e.Type = api.EventCancelled
	}
	return d.put(r, e)
}

const feedOfAttempt = `SELECT number, MIN(position) FROM feed WHERE job = ?1 AND number > ?2 AND number <= ?3
GROUP BY number ORDER BY number`

func (d *feedDecoder) endedJob(ctx context.Context, r *feedRow) (*endedJob, error) {
	if j := d.jobs[r.job.seq]; j != nil {
		return j, nil
	}
	j := &endedJob{positions: map[int64]int64{}}
	err := d.store.rows(ctx, d.store.read, query{"read feed", feedOfAttempt, []any{r.job.seq,
		int64(number(r.job.attempt, 0)), int64(number(r.job.attempt, lastOfAttempt))}}, func(rows *sql.Rows) error {
		var number, position int64
		err := rows.Scan(&number, &position)
		j.positions[number] = position
		return err
	})
	if err != nil {
		return nil, err
	}
	err = d.store.rows(ctx, d.store.read, query{"read feed", `SELECT tests FROM jobs WHERE seq = ?1`,
		[]any{r.job.seq}}, func(rows *sql.Rows) error {
		var tests []byte
		if err := rows.Scan(&tests); err != nil || tests == nil {
			return err
		}
		return unpackJSON(tests, &j.tests)
	})
	if err != nil {
		return nil, fmt.Errorf("read the tests of job %q: %w", r.job.id, err)
	}
	d.jobs[r.job.seq] = j
	return j, nil
}

// sweptWindow examines the rows of a window. ended is when the job of a row ended or was deleted, or 0 if that is not
// known; a row without a job has its time of deletion as its number. A job of an applied rejudging does not count: it
// has the times of the old report, so that its rows, even the newest one, would be too old.
const sweptWindow = `SELECT COALESCE(MAX(CASE WHEN ended > 0 AND ended < ?1 THEN position END), 0),
	COALESCE(MAX(position), 0), COALESCE(MAX(ended), 0), COUNT(*)
FROM (SELECT f.position, CASE WHEN f.job = 0 THEN f.number WHEN j.seq IS NULL THEN 1 WHEN r.id IS NOT NULL THEN 0
	ELSE j.finished END AS ended
FROM (SELECT position, job, number FROM feed WHERE position > ?2 ORDER BY position LIMIT ?3) AS f
LEFT JOIN jobs j ON j.seq = f.job LEFT JOIN rejudged r ON r.id = j.id AND r.state = ?4) AS found`

// sweepFeed deletes the rows before the last one that is too old or whose job was swept. That row stays as the oldest
// position; its event is not visible. Rows of jobs that have not ended are passed over.
func (s *Store) sweepFeed(ctx context.Context) error {
	old := s.now().Add(-feedAge).UnixNano()
	for after := int64(0); ; {
		var tooOld, last, ended int64
		var n int
		err := s.rows(ctx, s.read, query{"sweep old events", sweptWindow, []any{old, after, feedWindow, rejudgedReplaced}},
			func(rows *sql.Rows) error { return rows.Scan(&tooOld, &last, &ended, &n) })
		if err != nil {
			return err
		}
		deleted, err := s.exec(ctx, "sweep old events", `DELETE FROM feed WHERE position < ?1`, tooOld)
		switch {
		case err != nil:
			return err
		case deleted > 0:
			after = 0
		case n < feedWindow || ended >= old:
			return nil
		default:
			after = last
		}
	}
}
