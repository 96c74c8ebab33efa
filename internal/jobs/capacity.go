package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
)

// capacity enforces Options.MaxWaiting without counting rows in each Put. It adds up the jobs that this process puts,
// and recounts the rows when the sum reaches the limit, and with PostgreSQL also after a second, because other
// processes put jobs too. So one process never exceeds the limit. Several processes exceed it by at most what they put
// during countAge or, in a long queue, during countShare counts.
//
// Put waits for a count only if it cannot be accepted without one.
type capacity struct {
	wake chan struct{} // starts a count

	mu      sync.Mutex // guards the rest
	known   int        // upper bound of the number of queued jobs
	flying  int        // number of calls of Put that may add one
	left    bool       // a job has left the queue since the count
	counted time.Time
	took    time.Duration // duration of the last count
	added   int           // since the running count began
	running *counting     // nil if none is running
}

// counting is a count of the queue.
type counting struct {
	done chan struct{} // closed when it ends
	err  error         // set before done is closed
}

const (
	// countAge is how long a count is valid when other processes put and take jobs.
	countAge = time.Second
	// countShare limits the time spent counting to a twentieth.
	countShare = 20
)

// reserve reserves a place in the queue until release. It returns false if the queue is full.
func (s *Store) reserve(caller context.Context) (bool, error) {
	if s.maxWaiting.Load() <= 0 {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(caller, s.opts.Timeout)
	defer cancel()
	for {
		ok, count := s.placeOrCount()
		if count == nil {
			return ok, nil
		}
		select {
		case <-count.done:
		case <-ctx.Done():
			return false, s.explain(caller, "count waiting jobs", ctx.Err())
		}
		if count.err != nil {
			return false, count.err
		}
	}
}

// placeOrCount reserves a place, or returns the count to wait for if only the count can show whether there is one.
func (s *Store) placeOrCount() (bool, *counting) {
	r := &s.capacity
	r.mu.Lock()
	defer r.mu.Unlock()
	full := r.known+r.flying >= int(s.maxWaiting.Load())
	shared := s.driver.listen != nil
	if r.counted.IsZero() || full && r.left || shared && time.Since(r.counted) > max(countAge, countShare*r.took) {
		r.start()
	}
	if r.running != nil && (r.counted.IsZero() || full) {
		return false, r.running
	}
	if full {
		return false, nil
	}
	r.flying++
	return true, nil
}

// start starts a count unless one is running. The caller must hold mu.
func (r *capacity) start() {
	if r.running != nil {
		return
	}
	r.running, r.left, r.added = &counting{done: make(chan struct{})}, false, 0
	wakeUp(r.wake)
}

// countWaiting runs the counts that start requests, until life ends.
func (s *Store) countWaiting(life context.Context) {
	r := &s.capacity
	for {
		select {
		case <-life.Done():
			return
		case <-r.wake:
		}
		start := time.Now()
		depths, err := s.Depth(life)
		r.mu.Lock()
		if err == nil {
			// Jobs that were put meanwhile may or may not have been counted.
			r.known, r.counted, r.took = depths.Total()+r.added, time.Now(), time.Since(start)
			r.left = r.left || r.added > 0
		}
		r.running.err = err
		close(r.running.done)
		r.running = nil
		r.mu.Unlock()
	}
}

// SetTenants changes Options.Tenants.
func (s *Store) SetTenants(all []config.Tenant) { s.turns.setTenants(all) }

// SetMaxWaiting changes Options.MaxWaiting.
func (s *Store) SetMaxWaiting(n int) { s.maxWaiting.Store(int64(n)) }

// release ends a reservation; added means that a job was queued.
func (r *capacity) release(added bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flying = max(r.flying-1, 0) // already 0 if there is no limit
	if added {
		r.known++
		r.added++
	}
}

// jobLeft records that a job has left the queue.
func (r *capacity) jobLeft() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = true
}

// Room returns ErrFull if a new job would be refused now.
func (s *Store) Room(ctx context.Context) error {
	ok, err := s.reserve(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%d jobs wait: %w", s.maxWaiting.Load(), ErrFull)
	}
	s.capacity.release(false)
	return nil
}

// Depths is the number of queued jobs by pool and priority. Audits are not counted.
type Depths map[string]map[api.Priority]int

// Total returns the sum over all pools.
func (d Depths) Total() (n int) {
	for _, pool := range d {
		for _, waiting := range pool {
			n += waiting
		}
	}
	return n
}

// depthText reads two covering indexes: queued jobs, and those that run or whose delay has not passed.
const depthText = `SELECT pool, priority, tenant, 0, COUNT(*), MIN(turn), MAX(turn) FROM jobs
WHERE parked = 0 AND finished = 0 GROUP BY pool, priority, tenant
UNION ALL
SELECT pool, priority, tenant, state, COUNT(*), MIN(turn), MAX(turn) FROM jobs WHERE parked > 0
GROUP BY pool, priority, tenant, state`

// Depth counts the queued jobs, and learns their turns. A job whose lease has expired counts once it is queued again.
func (s *Store) Depth(ctx context.Context) (Depths, error) {
	depths, found := Depths{}, newSeenTurns()
	err := s.rows(ctx, s.read, query{"count waiting jobs", depthText, nil}, func(rows *sql.Rows) error {
		var f flow
		var state, n int
		var first, last int64
		if err := rows.Scan(&f.pool, &f.priority, &f.tenant, &state, &n, &first, &last); err != nil {
			return err
		}
		found.add(f, state, first, last)
		if state == queued && f.priority >= 0 && f.priority < len(api.Priorities()) {
			if depths[f.pool] == nil {
				depths[f.pool] = map[api.Priority]int{}
			}
			depths[f.pool][api.Priorities()[f.priority]] += n
		}
		return nil
	})
	if err == nil {
		s.turns.learn(found)
	}
	return depths, err
}
