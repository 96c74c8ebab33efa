package jobs

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"judged/internal/base/job"
)

// Want describes a free slot.
type Want struct {
	Pool  string // "" is default
	Width int    // CPUs of the slot, the most that a job may ask for; 0 is 1
	Host  string // that has the slot, see Reclaim
	Node  string // its name in the fleet: a node does not audit its own jobs, nor judge one again for a cross-check
	CPUs  string // kernel list of the slot, for the event
	// Contests means that only jobs of the priority contest are wanted.
	Contests bool
	// Key names the call, so that it can be repeated when its answer was lost: with
	// Repeated, Take returns the job that Host has for this Key, if there is one.
	Key      string
	Repeated bool
}

// Work is a leased job. The lease ends with Finish or Return, or expires
// Options.Lease after Take or the last Extend: then the job is taken again.
type Work struct {
	Lease
	Job       job.Job
	Report    job.Report // without tests; its attempt counts this one
	Last      bool       // no attempt may follow this one: Options.MaxDeliver
	Exhausted bool       // one attempt too many: to be finished as IE without a run
	Until     time.Time  // deadline of the lease, by the database's clock
}

// Take leases the oldest job of the highest priority that fits a slot. Audits may be refused to a node. It waits
// until there is one or ctx is done; a job that was leased while ctx ended is
// returned without an error. When the database is unavailable, Take returns at
// once.
func (s *Store) Take(ctx context.Context, w Want) (Work, error) {
	w.Pool, w.Width = cmp.Or(w.Pool, defaultPool), cmp.Or(w.Width, 1)
	line := s.hub.line(kind{w.Pool, w.Width, w.Contests})
	// Only one taker of a kind queries the database at a time: otherwise each new
	// job would wake all of them.
	select {
	case line.front <- struct{}{}:
	case <-ctx.Done():
		return Work{}, fmt.Errorf("take a job: %w", ctx.Err())
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
		// Not cancelled with ctx: that could leave a lease that nobody holds.
		work, found, err := s.take(context.WithoutCancel(ctx), w)
		if found || err != nil {
			return work, err
		}
		select {
		case <-line.wake:
		case <-poll.C:
			// The next one in the line may be allowed to take an audit that this one is not.
			<-line.front
			held = false
			select {
			case line.front <- struct{}{}:
				held = true
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	}
	return Work{}, fmt.Errorf("take a job: %w", ctx.Err())
}

// The subquery skips running jobs within the index: at most one row per slot.
const takeJob = `UPDATE jobs SET state = 1, attempt = attempt + 1, due = ?1, started = ?2, host = ?3, cpus = ?4,
	take_key = ?8
WHERE seq = (SELECT seq FROM jobs WHERE state < 2 AND pool = ?5 AND width <= ?6 AND due <= ?2 AND priority <= ?9
	AND (priority < 4 OR NOT EXISTS (SELECT 1 FROM audits WHERE audits.id = jobs.id
		AND CASE WHEN audits.target = '' THEN audits.origin = ?7 ELSE audits.target <> ?7 END))
	AND (avoid_until <= ?2 OR {position}(avoid, '/' || ?7 || '/') = 0)
	ORDER BY priority, seq LIMIT 1 {lock})
RETURNING ` + rowColumns + `, job`

// A lost lease keeps its key: a job that nobody else has taken meanwhile is the same one.
const takeAgain = `UPDATE jobs SET due = ?1 WHERE state < 2 AND state = 1 AND host = ?2 AND take_key = ?3
RETURNING ` + rowColumns + `, job`

func (s *Store) take(ctx context.Context, w Want) (work Work, found bool, err error) {
	now := s.now()
	until := now.Add(s.opts.Lease)
	if w.Repeated && w.Key != "" {
		// Each time, because the first call may still wait on another front.
		work, found, err = s.lease(ctx, takeAgain, until, []any{until.UnixNano(), w.Host, w.Key})
		if found || err != nil {
			return work, found, err
		}
	}
	least := len(job.AllPriorities()) - 1
	if w.Contests {
		least = slices.Index(job.AllPriorities(), job.Contest)
	}
	return s.lease(ctx, takeJob, until,
		[]any{until.UnixNano(), now.UnixNano(), w.Host, w.CPUs, w.Pool, w.Width, w.Node, w.Key, least})
}

// lease runs a statement that leases a job.
func (s *Store) lease(ctx context.Context, text string, until time.Time, args []any) (work Work, found bool, err error) {
	var r row
	var body []byte
	err = s.rows(ctx, s.write, query{"take a job", text, args}, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(append(r.fields(), &body)...)
	})
	if err != nil || !found {
		return Work{}, false, err
	}
	s.capacity.jobLeft()
	s.notifyJob(r.id)
	rec, err := r.record("", body, nil)
	if err != nil {
		return Work{}, false, err
	}
	return Work{
		Lease: rec.Lease, Job: rec.Job, Report: rec.Report, Until: until,
		Last:      rec.Report.Attempt >= s.opts.MaxDeliver,
		Exhausted: rec.Report.Attempt > s.opts.MaxDeliver,
	}, true, nil
}

// Reclaim expires the leases of a host whose previous process has ended, so that
// its jobs are taken again at once. It returns their number.
func (s *Store) Reclaim(ctx context.Context, host string) (int, error) {
	n, err := s.exec(ctx, "reclaim jobs of a host",
		`UPDATE jobs SET due = ?1 WHERE state < 2 AND state = 1 AND host = ?2`, s.now().UnixNano(), host)
	if n > 0 {
		s.hub.everything()
	}
	return int(n), err
}

// Adopt moves unfinished jobs of other pools to this one, except for those of pools in use. It is for a host that
// uses its database alone and whose pool was renamed.
func (s *Store) Adopt(ctx context.Context, pool string, inUse []string) (int, error) {
	text, args := `UPDATE jobs SET pool = ?1 WHERE state < 2 AND pool <> ?1`, []any{cmp.Or(pool, defaultPool)}
	for i, name := range inUse {
		text += fmt.Sprintf(" AND pool <> ?%d", i+2)
		args = append(args, name)
	}
	n, err := s.exec(ctx, "adopt jobs of other pools", text, args...)
	if n > 0 {
		s.hub.everything()
	}
	return int(n), err
}
