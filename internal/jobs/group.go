package jobs

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// group lets the writes that wait for SQLite's only writer share a transaction, and so its sync, which is most of the
// cost of a write. A write that need not wait has its own. PostgreSQL does the same by itself.
type group struct {
	mu      sync.Mutex // guards the fields below
	busy    bool       // a writer is at work, and calls next
	waiting []*write
}

// write is a change of the database that may share a transaction with others.
type write struct {
	operation string
	texts     []string // of its statements
	// run runs the statements. It may be called again after a transaction that was rolled back, so it resets its results.
	run func(do statementRunner) error

	turn    chan struct{} // closed when the write waits no longer
	batch   []*write      // to be written by the caller of this write, the first of them
	written bool          // by another caller
}

type statementRunner func(text string, args []any, scan func(*sql.Rows) error) error

// share runs a write, and returns when it is durable. If one write of a shared transaction fails, all of them are rolled
// back, and each one runs again in its own transaction: so each caller gets its own error.
func (s *Store) share(caller context.Context, w *write) error {
	own := []*write{w}
	if s.driver.listen != nil {
		return s.runWrites(caller, own)
	}
	batch := s.group.join(w)
	switch {
	case w.written:
		return nil
	case batch == nil: // rolled back
		return s.runWrites(caller, own)
	}
	if len(batch) == 1 {
		return s.lead(caller, batch)
	}
	if err := s.lead(context.WithoutCancel(caller), batch); err != nil {
		return s.runWrites(caller, own)
	}
	return nil
}

// lead runs a batch, and then lets other callers continue.
func (s *Store) lead(ctx context.Context, batch []*write) (err error) {
	err = errors.New("panicked")
	defer func() { s.group.next(batch[1:], err == nil) }()
	return s.runWrites(ctx, batch)
}

// join returns the writes that the caller has to run: only its own, or also those that wait with it. It returns none if
// another caller has tried to.
func (g *group) join(w *write) []*write {
	g.mu.Lock()
	if !g.busy {
		g.busy = true
		g.mu.Unlock()
		return []*write{w}
	}
	w.turn = make(chan struct{})
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()
	<-w.turn
	return w.batch
}

// next reports the outcome to the other callers of a batch, and makes the first caller that waits run the next one.
func (g *group) next(others []*write, written bool) {
	for _, w := range others {
		w.written = written
		close(w.turn)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	batch := g.waiting
	g.busy, g.waiting = len(batch) > 0, nil
	if g.busy {
		batch[0].batch = batch
		close(batch[0].turn)
	}
}

// runWrites runs writes in one transaction.
func (s *Store) runWrites(caller context.Context, batch []*write) error {
	first := batch[0]
	if len(batch) == 1 && len(first.texts) == 1 {
		return first.run(func(text string, args []any, scan func(*sql.Rows) error) error {
			return s.rows(caller, s.write, query{first.operation, text, args}, scan)
		})
	}
	return s.writesTx(caller, batch, func(context.Context, *sql.Tx) error { return nil })
}

// writesTx runs writes and then more in one transaction.
func (s *Store) writesTx(caller context.Context, batch []*write, more func(context.Context, *sql.Tx) error) error {
	for _, w := range batch {
		for _, text := range w.texts { // before the transaction, which holds SQLite's only connection that writes
			if _, err := s.statement(caller, s.write, text); err != nil {
				return s.explain(caller, w.operation, err)
			}
		}
	}
	return s.tx(caller, batch[0].operation, func(ctx context.Context, tx *sql.Tx) error {
		for _, w := range batch {
			err := w.run(func(text string, args []any, scan func(*sql.Rows) error) error {
				statement, err := s.statement(ctx, s.write, text)
				if err != nil {
					return err
				}
				found, err := tx.StmtContext(ctx, statement).QueryContext(ctx, args...)
				if err != nil {
					return err
				}
				return each(found, scan)
			})
			if err != nil {
				return err
			}
		}
		return more(ctx, tx)
	})
}
