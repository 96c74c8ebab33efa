package jobs

import (
	"context"
	"database/sql"
	"time"

	"judged/internal/base/poll"
)

// settled reads the last assigned position and waits until all transactions that are changing the feed have ended. A
// transaction locks the feed before it gets a position, and releases the lock after its commit is visible. Unlike the
// oldest transaction of a snapshot, this does not depend on other work of the server.
func (p *peers) settled(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, p.store.opts.Timeout)
	defer cancel()
	var last int64
	err := p.store.read.QueryRowContext(ctx, `SELECT last_value FROM feed_position_seq`).Scan(&last)
	if err != nil {
		return 0, err
	}
	open, err := p.writers(ctx)
	for pause := time.Millisecond; len(open) > 0 && err == nil; pause = min(2*pause, feedEvery) {
		poll.Sleep(ctx, pause)
		var now map[string]bool
		if now, err = p.writers(ctx); err == nil {
			for id := range open {
				if !now[id] {
					delete(open, id)
				}
			}
		}
	}
	return last, err
}

// writers returns the transactions that are changing the feed.
func (p *peers) writers(ctx context.Context) (map[string]bool, error) {
	open := map[string]bool{}
	rows, err := p.store.read.QueryContext(ctx, `SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation'
AND relation = 'feed'::regclass AND mode = 'RowExclusiveLock' AND granted
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	if err != nil {
		return nil, err
	}
	return open, each(rows, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		open[id] = true
		return err
	})
}
