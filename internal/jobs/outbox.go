package jobs

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
)

// outbox buffers test events that are not stored yet, and jobs whose stored test events are obsolete. One transaction
// writes all of them, because separate transactions would cost a disk sync per test.
type outbox struct {
	wake chan struct{}

	mu     sync.Mutex // guards the fields below
	events []bufferedEvent
	ended  []int64 // seq
}

type bufferedEvent struct {
	lease  api.Lease
	number int64
	body   []byte
}

const (
	// deliverEvery is the minimum time between two transactions.
	deliverEvery = 20 * time.Millisecond
	// maxBuffered limits the events in memory while the database is down. The report has the events that are dropped.
	maxBuffered = 10_000
)

func (o *outbox) put(t bufferedEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.events) < maxBuffered {
		o.events = append(o.events, t)
	}
	wakeUp(o.wake)
}

// deleteLater schedules the deletion of the test events of a job that has ended.
func (o *outbox) deleteLater(seq int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.ended) < maxBuffered { // Sweep deletes the others
		o.ended = append(o.ended, seq)
	}
	wakeUp(o.wake)
}

func (o *outbox) empty() (t []bufferedEvent, ended []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t, ended = o.events, o.ended
	o.events, o.ended = nil, nil
	return t, ended
}

// deliver writes the contents of the outbox until life is done.
func (s *Store) deliver(life context.Context) {
	for {
		select {
		case <-life.Done():
			return
		case <-s.outbox.wake:
		}
		tests, ended := s.outbox.empty()
		if err := s.storeEvents(life, tests, ended); err != nil && life.Err() == nil {
			s.opts.Log.Warn("cannot store test events; the reports will have the tests", "events", len(tests), "error",
				err)
		}
		for _, t := range tests {
			s.notifyJob(t.lease.ID)
		}
		poll.Sleep(life, deliverEvery)
	}
}

// storeEvents inserts test events, except for those of attempts that have lost their job.
func (s *Store) storeEvents(ctx context.Context, tests []bufferedEvent, ended []int64) error {
	insert := s.driver.sql(`INSERT INTO events (job, number, body) SELECT seq, CAST(?1 AS BIGINT), ?2 FROM jobs
WHERE id = ?3 AND attempt = ?4 AND +state = 1 ON CONFLICT (job, number) DO NOTHING`)
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
