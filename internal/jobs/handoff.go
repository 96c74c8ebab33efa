package jobs

import (
	"context"

	"judged/internal/api"
)

// handoff is a taker that waits in front of its line. Put takes a job for it in the transaction that stores a job, which
// saves a transaction and its sync. With PostgreSQL, where takers wait in several processes, there are none.
type handoff struct {
	want api.Want
	done chan struct{} // closed when the Put that has accepted it has ended

	// Set before done is closed.
	work  api.Work
	found bool
	err   error
}

// offer makes a taker available to Put until withdraw.
func (s *Store) offer(l *line, w api.Want) *handoff {
	h := &handoff{want: w, done: make(chan struct{})}
	if s.driver.listen == nil {
		s.notifier.mu.Lock()
		defer s.notifier.mu.Unlock()
		l.offered = h
	}
	return h
}

// withdraw ends an offer. If a Put has accepted it, withdraw waits for the outcome.
func (s *Store) withdraw(l *line, h *handoff) (work api.Work, found bool, err error) {
	s.notifier.mu.Lock()
	accepted := s.driver.listen == nil && l.offered != h
	l.offered = nil
	s.notifier.mu.Unlock()
	if accepted {
		<-h.done
	}
	return h.work, h.found, h.err
}

// accept returns the offer of the narrowest slot that may judge a job, or nil.
func (h *notifier) accept(k slotClass, p api.Priority) *handoff {
	h.mu.Lock()
	defer h.mu.Unlock()
	var from *line
	width := 0
	for slot, l := range h.works {
		if l.offered != nil && slot.pool == k.pool && slot.width >= k.width && (from == nil || slot.width < width) &&
			(p == api.Contest || !slot.contests) {
			from, width = l, slot.width
		}
	}
	if from == nil {
		return nil
	}
	offered := from.offered
	from.offered = nil
	return offered
}

// putAndTake runs the insertion of a job, which sets created, and takes the first job in the queue for a taker. It
// returns the ID of the job that was taken, which is nearly always the inserted one.
func (s *Store) putAndTake(ctx context.Context, insert *write, created *bool, h *handoff) (taken string, err error) {
	defer close(h.done)
	l := s.newLookup(h.want, false)
	w := &write{operation: insert.operation, texts: append(insert.texts, l.text), run: func(do statementRunner) error {
		l.row = row{}
		if err := insert.run(do); err != nil || !*created {
			return err
		}
		return l.run(do)
	}}
	// Not cancelled with ctx, as in Take.
	if err := s.share(context.WithoutCancel(ctx), w); err != nil {
		return "", err
	}
	s.record(l)
	if h.found = l.row.id != ""; h.found {
		h.work, h.err = s.leased(l)
	}
	return l.row.id, nil
}
