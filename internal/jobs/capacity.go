package jobs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// capacity enforces Options.MaxWaiting without counting rows in each Put. It adds the jobs that this process puts to
// the last count. It counts again when the sum reaches the limit and, because other processes put jobs too, with
// PostgreSQL also after a second. So one process never exceeds the limit. Several processes exceed it at most by the
// jobs that they put during countAge or, with a long queue, until the next count.
//
// Put waits for a count only if the result can decide whether there is room.
type capacity struct {
	wake chan struct{} // starts a count

	mu      sync.Mutex // guards the fields below
	known   int        // upper bound of the number of queued jobs
	flying  int        // number of running calls of Put that may add one
	left    bool       // a job has left the queue since the last count
	counted time.Time
	took    time.Duration // duration of the last count
	added   int           // jobs added since the running count started
	tenants map[string]places
	running *counting // nil if none is running
}

// places holds the numbers in capacity for one tenant.
type places struct{ known, flying, added int }

// counting is a running count of the queue.
type counting struct {
	done chan struct{} // closed when the count ends
	err  error         // set before done is closed
}

const (
	// countAge is how long a count is valid when other processes put and take jobs.
	countAge = time.Second
	// countShare limits the time spent counting to a twentieth.
	countShare = 20
)

// reserve reserves a place in the queue until release. part divides the number of places of the tenant. refused is
// ErrFull or a QuotaError of the tenant.
func (s *Store) reserve(caller context.Context, tenant string, part int) (refused, err error) {
	quota := s.usage.tenant(tenant).MaxWaiting
	if s.maxWaiting.Load() <= 0 && quota == 0 {
		return nil, nil
	}
	quota = (quota + part - 1) / part
	ctx, cancel := context.WithTimeout(caller, s.opts.Timeout)
	defer cancel()
	for {
		refused, count := s.placeOrCount(tenant, quota)
		if count == nil {
			return refused, nil
		}
		select {
		case <-count.done:
		case <-ctx.Done():
			return nil, s.explain(caller, "count waiting jobs", ctx.Err())
		}
		if count.err != nil {
			return nil, count.err
		}
	}
}

// placeOrCount reserves a place if fewer jobs of the tenant than its quota wait; 0 means no limit. If only a count can
// show whether there is room, it returns that count.
func (s *Store) placeOrCount(tenant string, quota int) (refused error, count *counting) {
	r := &s.capacity
	r.mu.Lock()
	defer r.mu.Unlock()
	most, t := int(s.maxWaiting.Load()), r.tenants[tenant]
	switch {
	case most > 0 && r.known+r.flying >= most:
		refused = fmt.Errorf("%d jobs wait: %w", most, ErrFull)
	case quota > 0 && t.known+t.flying >= quota:
		refused = &QuotaError{Tenant: tenant, Quota: "max_waiting", Limit: strconv.Itoa(quota)}
	}
	shared := s.driver.listen != nil
	if r.counted.IsZero() || refused != nil && r.left || shared && time.Since(r.counted) > max(countAge, countShare*r.took) {
		r.start()
	}
	if r.running != nil && (r.counted.IsZero() || refused != nil) {
		return nil, r.running
	}
	if refused != nil {
		return refused, nil
	}
	r.flying++
	r.change(tenant, places{flying: 1})
	return nil, nil
}

// change adds to the numbers of a tenant. The caller must hold mu.
func (r *capacity) change(tenant string, by places) {
	if r.tenants == nil {
		r.tenants = map[string]places{}
	}
	t := r.tenants[tenant]
	r.tenants[tenant] = places{t.known + by.known, max(t.flying+by.flying, 0), t.added + by.added}
}

// start requests a count unless one is running. The caller must hold mu.
func (r *capacity) start() {
	if r.running != nil {
		return
	}
	r.running, r.left, r.added = &counting{done: make(chan struct{})}, false, 0
	for name, t := range r.tenants {
		r.tenants[name] = places{t.known, t.flying, 0}
	}
	wakeUp(r.wake)
}

// countWaiting runs the requested counts until life is done.
func (s *Store) countWaiting(life context.Context) {
	r := &s.capacity
	for {
		select {
		case <-life.Done():
			return
		case <-r.wake:
		}
		start := time.Now()
		waiting, err := s.countQueue(life)
		r.mu.Lock()
		if err == nil {
			// The count may or may not include jobs that were put while it ran.
			r.known, r.counted, r.took = r.added, time.Now(), time.Since(start)
			r.left = r.left || r.added > 0
			for name, n := range waiting {
				r.known += n
				r.change(name, places{})
			}
			for name, t := range r.tenants {
				if t.known = waiting[name] + t.added; t == (places{}) {
					delete(r.tenants, name)
				} else {
					r.tenants[name] = t
				}
			}
		}
		r.running.err = err
		close(r.running.done)
		r.running = nil
		r.mu.Unlock()
	}
}

// SetMaxWaiting changes Options.MaxWaiting.
func (s *Store) SetMaxWaiting(n int) { s.maxWaiting.Store(int64(n)) }

// release ends a reservation. added reports whether a job was queued.
func (r *capacity) release(tenant string, added bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flying = max(r.flying-1, 0) // already 0 if there is no limit
	r.change(tenant, places{flying: -1})
	if added {
		r.known++
		r.added++
		r.change(tenant, places{known: 1, added: 1})
	}
}

// jobLeft records that a job has left the queue.
func (r *capacity) jobLeft() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = true
}

// Room returns ErrFull, or a QuotaError, if a new job of the caller would be refused now.
func (s *Store) Room(ctx context.Context) error {
	tenant := TenantOf(ctx)
	refused, err := s.place(ctx, tenant)
	if err != nil || refused != nil {
		return cmp.Or(err, refused)
	}
	s.capacity.release(tenant, false)
	return nil
}

// place is like reserve, for a new job of a caller. All quotas apply.
func (s *Store) place(ctx context.Context, tenant string) (refused, err error) {
	var quota *QuotaError
	if err := s.checkCPUTime(ctx, tenant); errors.As(err, &quota) {
		return quota, nil
	} else if err != nil {
		return nil, err
	}
	return s.reserve(ctx, tenant, 1)
}

// countText reads two covering indexes: queued jobs, and those that run or whose delay has not passed. Queued jobs
// without a tenant, which are all jobs of most platforms, are in the order of their groups and need no sorting.
const countText = `SELECT pool, priority, '', 0, COUNT(*), MIN(turn), MAX(turn) FROM jobs
WHERE parked = 0 AND finished = 0 AND tenant = '' GROUP BY pool, priority
UNION ALL
SELECT pool, priority, tenant, 0, COUNT(*), MIN(turn), MAX(turn) FROM jobs
WHERE parked = 0 AND finished = 0 AND tenant <> '' GROUP BY pool, priority, tenant
UNION ALL
SELECT pool, priority, tenant, state, COUNT(*), MIN(turn), MAX(turn) FROM jobs WHERE parked > 0
GROUP BY pool, priority, tenant, state`

// countQueue counts the queued jobs of each tenant without audits, and learns their turns. A job whose lease has expired
// counts once it is queued again.
func (s *Store) countQueue(ctx context.Context) (tenants map[string]int, err error) {
	tenants = map[string]int{}
	found := newSeenTurns()
	err = s.rows(ctx, s.read, query{"count waiting jobs", countText, nil}, func(rows *sql.Rows) error {
		var f flow
		var state, n int
		var first, last int64
		if err := rows.Scan(&f.pool, &f.priority, &f.tenant, &state, &n, &first, &last); err != nil {
			return err
		}
		found.add(f, state, first, last)
		if state == queued && f.priority < auditPriority {
			tenants[f.tenant] += n
		}
		return nil
	})
	if err == nil {
		s.turns.learn(found)
	}
	return tenants, err
}
