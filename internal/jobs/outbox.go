package jobs

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// outbox holds test events that are not stored yet, and jobs whose test events
// are of no use any more. One transaction writes all of them: each for itself
// would cost a synced write per test.
type outbox struct {
	wake chan struct{}

	mu    sync.Mutex // guards the rest
	told  []told
	ended []int64 // seq
}

// told is a test event.
type told struct {
	lease  Lease
	number int64
	body   []byte
}

const (
	// deliverEvery is the least time between two transactions.
	deliverEvery = 20 * time.Millisecond
	// mostTold bounds the events in memory while the database is away. What is
	// left out is told from the report.
	mostTold = 10_000
)

func (o *outbox) put(t told) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.told) < mostTold {
		o.told = append(o.told, t)
	}
	wakeUp(o.wake)
}

// drop deletes the test events of a job that has ended.
func (o *outbox) drop(seq int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.ended) < mostTold { // the rest is left to the sweep
		o.ended = append(o.ended, seq)
	}
	wakeUp(o.wake)
}

func (o *outbox) empty() (t []told, ended []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t, ended = o.told, o.ended
	o.told, o.ended = nil, nil
	return t, ended
}

// deliver writes what is in the outbox until life ends.
func (s *Store) deliver(life context.Context) {
	for {
		select {
		case <-life.Done():
			return
		case <-s.outbox.wake:
		}
		tests, ended := s.outbox.empty()
		if err := s.storeEvents(life, tests, ended); err != nil && life.Err() == nil {
			s.opts.Log.Warn("cannot store test events; the reports will have the tests", "events", len(tests), "error", err)
		}
		for _, t := range tests {
			s.tellJob(t.lease.ID)
		}
		rest(life, deliverEvery)
	}
}

// storeEvents is fenced: only of a job that the attempt has a row is inserted.
func (s *Store) storeEvents(ctx context.Context, tests []told, ended []int64) error {
	insert := s.driver.sql(`INSERT INTO events (job, number, body) SELECT seq, CAST(?1 AS BIGINT), ?2 FROM jobs
WHERE id = ?3 AND attempt = ?4 AND state = 1 ON CONFLICT (job, number) DO NOTHING`)
	remove := s.driver.sql(`DELETE FROM events WHERE job = ?1`)
	return s.tx(ctx, "emit test events", func(ctx context.Context, tx *sql.Tx) error {
		for _, t := range tests {
			if _, err := tx.ExecContext(ctx, insert, t.number, t.body, t.lease.ID, t.lease.Attempt); err != nil {
				return err
			}
		}
		for _, seq := range ended {
			if _, err := tx.ExecContext(ctx, remove, seq); err != nil {
				return err
			}
		}
		return nil
	})
}
