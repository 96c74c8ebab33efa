package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"judged/internal/base/job"
)

// capacity enforces Options.MaxWaiting without counting rows in each Put. It adds up
// the jobs that this process puts, and counts the rows again when the sum reaches
// the limit, and with PostgreSQL after a second, because other processes put jobs
// too. So one process never exceeds the limit, and several exceed it by what they
// put within a second at most.
type capacity struct {
	mu      sync.Mutex // guards the rest; held while the rows are counted
	known   int        // upper bound of the queued jobs
	flying  int        // calls of Put that may add one
	left    bool       // a job has left the queue since the count
	counted time.Time
}

// countAge is how long a count is valid when other processes put and take jobs.
const countAge = time.Second

// reserve reserves a place in the queue until release. It returns false when the queue is full.
func (s *Store) reserve(ctx context.Context) (bool, error) {
	most, r := int(s.maxWaiting.Load()), &s.capacity
	if most <= 0 {
		return true, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	age, shared := time.Since(r.counted), s.driver.listen != nil
	full := r.known+r.flying >= most
	if r.counted.IsZero() || shared && age > countAge || full && r.left {
		r.left = false
		depths, err := s.Depth(ctx)
		if err != nil {
			return false, err
		}
		r.known, r.counted = depths.Total(), time.Now()
		full = r.known+r.flying >= most
	}
	if full {
		return false, nil
	}
	r.flying++
	return true, nil
}

// SetMaxWaiting changes Options.MaxWaiting.
func (s *Store) SetMaxWaiting(n int) { s.maxWaiting.Store(int64(n)) }

// release ends a reservation; added means that a job was queued.
func (r *capacity) release(added bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flying = max(r.flying-1, 0) // 0 already without a limit
	if added {
		r.known++
	}
}

// jobLeft notes that a job has left the queue.
func (r *capacity) jobLeft() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = true
}

// Room returns ErrFull when a new job would be refused now.
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

// Depths are the queued jobs of each pool with any, by priority. Audits are not counted.
type Depths map[string]map[job.Priority]int

// Total adds up the pools.
func (d Depths) Total() (n int) {
	for _, pool := range d {
		for _, waiting := range pool {
			n += waiting
		}
	}
	return n
}

// Depth counts the queued jobs. A job whose lease has expired does not count before it is returned.
func (s *Store) Depth(ctx context.Context) (Depths, error) {
	// +state and this grouping lead SQLite to jobs_open, which has all columns.
	const text = `SELECT pool, priority, COUNT(*) FROM jobs WHERE state < 2 AND +state = 0 GROUP BY pool, priority`
	depths := Depths{}
	err := s.rows(ctx, s.read, query{"count waiting jobs", text, nil}, func(rows *sql.Rows) error {
		var pool string
		var priority, n int
		if err := rows.Scan(&pool, &priority, &n); err != nil {
			return err
		}
		if priority >= 0 && priority < len(job.Priorities()) {
			if depths[pool] == nil {
				depths[pool] = map[job.Priority]int{}
			}
			depths[pool][job.Priorities()[priority]] += n
		}
		return nil
	})
	return depths, err
}
