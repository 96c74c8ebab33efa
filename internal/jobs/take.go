package jobs

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
)

// Take leases the job of the highest priority whose turn it is, among those that fit a slot. Some nodes may not take
// some audits. Take waits until there is a job or ctx is done. A job that was leased while ctx ended is returned
// without an error. If the database is unavailable, Take returns immediately.
func (s *Store) Take(ctx context.Context, w api.Want) (api.Work, error) {
	w.Pool, w.Width = cmp.Or(w.Pool, defaultPool), cmp.Or(w.Width, 1)
	line := s.notifier.join(slotClass{w.Pool, w.Width, w.Contests})
	defer s.notifier.leave(line)
	// Only one taker of a class queries the database at a time. Otherwise each new job would wake all takers.
	select {
	case line.front <- struct{}{}:
	case <-ctx.Done():
		return api.Work{}, fmt.Errorf("take a job: %w", ctx.Err())
	}
	held := true
	defer func() {
		if held {
			<-line.front
		}
	}()
	poll := time.NewTicker(s.opts.poll)
	defer poll.Stop()
	for ctx.Err() == nil {
		// Not cancelled with ctx, because that could leave a lease without a holder.
		work, again, found, err := s.take(context.WithoutCancel(ctx), w)
		if found || err != nil {
			return work, err
		}
		whole, polled := time.NewTimer(again), false
		offer := s.offer(line, w)
		select {
		case <-offer.done:
		case <-line.wake:
		case <-whole.C:
		case <-poll.C:
			polled = true
		case <-ctx.Done():
		}
		whole.Stop()
		if work, found, err := s.withdraw(line, offer); found || err != nil {
			return work, err
		}
		if polled {
			// The next taker in the line may be allowed to take an audit that this one may not.
			<-line.front
			held = false
			select {
			case line.front <- struct{}{}:
				held = true
			case <-ctx.Done():
			}
		}
	}
	return api.Work{}, fmt.Errorf("take a job: %w", ctx.Err())
}

// takeAny and takeContest search the queue of each priority in turn and stop at the first job, so that PostgreSQL locks
// no other row. As in List, only the index jobs_line provides the order of priority, turn and seq. PostgreSQL starts an
// index scan at a position given by a row comparison, but ends it only at a column that is compared alone; SQLite
// starts at an equality.
var (
	takeAny     = takeText(len(api.AllPriorities()))
	takeContest = takeText(1 + slices.Index(api.AllPriorities(), api.Contest))
)

func takeText(priorities int) string {
	var lines []string
	for p := range priorities {
		audits := ""
		if p == auditPriority {
			audits = ` AND NOT EXISTS (SELECT 1 FROM audits WHERE audits.id = jobs.id
	AND CASE WHEN audits.target = '' THEN audits.origin = ?7 ELSE audits.target <> ?7 END)`
		}
		lines = append(lines, fmt.Sprintf(`SELECT seq FROM (SELECT seq FROM jobs WHERE parked = 0 AND finished = 0
	AND pool = ?5 AND (priority, turn, seq) >= (%d, ?%d, ?%d) AND priority {upto} %[1]d AND turn >= ?%[2]d
	AND width <= ?6 AND due <= ?2
	AND (avoid_until <= ?2 OR {position}(avoid, '/' || ?7 || '/') = 0)%[4]s
	ORDER BY priority, turn, seq LIMIT 1 {lock}) AS line%[1]d`, p, firstLow+2*p, firstLow+2*p+1, audits))
	}
	// A job may have been created while this call waited for the database.
	return `UPDATE jobs SET state = 1, parked = ?1, attempt = attempt + 1, due = ?1,
	started = CASE WHEN created > ?2 THEN created ELSE ?2 END, host = ?3, cpus = ?4, take_key = ?8
WHERE seq = (` + strings.Join(lines, ` UNION ALL `) + ` LIMIT 1)
RETURNING ` + rowColumns + `, job, turn`
}

// firstLow is the number of the first argument of takeText with a position. Each priority has two such arguments.
const firstLow = 9

// A lost lease keeps its key: if nobody has taken the job since, it is the same attempt.
const takeAgain = `UPDATE jobs SET due = ?1, parked = ?1
WHERE finished = 0 AND host <> '' AND host = ?2 AND take_key = ?3 AND +state = 1
RETURNING ` + rowColumns + `, job, turn`

// take takes a job. If it finds none, it returns how long to wait before the next search.
func (s *Store) take(ctx context.Context, w api.Want) (work api.Work, again time.Duration, found bool, err error) {
	if w.Repeated && w.Key != "" {
		// Computed for each call, because the response to the first call may have been lost.
		until := s.now().Add(s.opts.Lease)
		l := &lookup{want: w, text: takeAgain, args: []any{until.UnixNano(), w.Host, w.Key}, until: until}
		work, err := s.lease(ctx, l)
		if l.row.id != "" || err != nil {
			return work, noSearch, err == nil, err
		}
	}
	looked := s.now().Sub(time.Unix(0, s.unparked.Load())).Abs() >= unparkEvery
	if looked {
		if _, err := s.unpark(ctx); err != nil {
			return api.Work{}, noSearch, false, err
		}
	}
	work, again, found, err = s.takeLine(ctx, w)
	if found || err != nil || looked {
		return work, again, found, err
	}
	if n, err := s.unpark(ctx); n == 0 || err != nil {
		return api.Work{}, again, false, err
	}
	return s.takeLine(ctx, w)
}

// lookup is one search for a job to lease.
type lookup struct {
	want  api.Want
	text  string // of the statement
	args  []any
	until time.Time // end of the lease
	search

	row  row // of the leased job; without ID if none was found
	body []byte
}

// run runs the statement.
func (l *lookup) run(do statementRunner) error {
	l.row = row{}
	return do(l.text, l.args, func(rows *sql.Rows) error {
		return rows.Scan(append(l.row.fields(), &l.body, &l.row.turn)...)
	})
}

// lease runs a lookup.
func (s *Store) lease(ctx context.Context, l *lookup) (api.Work, error) {
	err := s.share(ctx, &write{operation: "take a job", texts: []string{l.text}, run: l.run})
	if err != nil || l.row.id == "" {
		l.row = row{}
		return api.Work{}, err
	}
	return s.leased(l)
}

// leased returns the work of a lookup that has found a job.
func (s *Store) leased(l *lookup) (api.Work, error) {
	s.capacity.jobLeft()
	s.notifyJob(l.row.id)
	rec, err := l.row.record("", l.body, nil, nil)
	if err != nil {
		return api.Work{}, err
	}
	return api.Work{
		Lease: rec.Lease, Job: rec.Job, Report: rec.Report, Until: l.until,
		Last: rec.Report.Attempt >= s.opts.MaxDeliver, Exhausted: rec.Report.Attempt > s.opts.MaxDeliver,
	}, nil
}

// Reclaim expires the leases of a host whose previous process has ended, so that its jobs can be taken again
// immediately. It returns the number of expired leases.
func (s *Store) Reclaim(ctx context.Context, host string) (int, error) {
	n, err := s.exec(ctx, "reclaim jobs of a host",
		`UPDATE jobs SET due = ?1, parked = 0 WHERE finished = 0 AND host <> '' AND host = ?2 AND +state = 1`,
		atOnce, host)
	if n > 0 {
		s.notifier.everything()
	}
	return int(n), err
}

// Adopt moves unfinished jobs of other pools to this pool, except for those of pools in use. It is for a host that is
// the only user of its database and whose pool was renamed.
func (s *Store) Adopt(ctx context.Context, pool string, inUse []string) (int, error) {
	// Nearly always there are none, which two indexes say without reading jobs or entries of this pool.
	text, args := `UPDATE jobs SET pool = ?1 WHERE seq IN (
SELECT seq FROM jobs WHERE parked = 0 AND finished = 0 AND pool < ?1 UNION ALL
SELECT seq FROM jobs WHERE parked = 0 AND finished = 0 AND pool > ?1 UNION ALL
SELECT seq FROM jobs WHERE parked > 0 AND +state < 2 AND pool <> ?1)`, []any{cmp.Or(pool, defaultPool)}
	for i, name := range inUse {
		text += fmt.Sprintf(" AND pool <> ?%d", i+2)
		args = append(args, name)
	}
	n, err := s.exec(ctx, "adopt jobs of other pools", text, args...)
	if n > 0 {
		s.notifier.everything()
		_, err = s.countQueue(ctx) // learns the turns
	}
	return int(n), err
}
