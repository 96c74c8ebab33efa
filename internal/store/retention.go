package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// slackShare is which share of MaxJobs may be too many before they are
	// deleted: deleting in batches costs one purge instead of hundreds.
	slackShare = 128
	// minSweep and maxSweep bound the time between two looks at the ages.
	minSweep = time.Second
	maxSweep = 10 * time.Minute
)

// sweeper deletes finished jobs beyond the bounds until life ends.
func (s *Store) sweeper(life context.Context) {
	var aged <-chan time.Time
	if s.opts.Retention > 0 {
		t := time.NewTicker(min(max(s.opts.Retention/64, minSweep), maxSweep))
		defer t.Stop()
		aged = t.C
	}
	for {
		if _, err := s.sweep(life); err != nil && life.Err() == nil {
			s.opts.Log.Error("delete old jobs", "error", err)
		}
		select {
		case <-life.Done():
			return
		case <-aged:
		case <-s.kick:
		}
	}
}

// finished wakes the sweeper when there are too many finished jobs, and drops
// the job's test events: its report has them from now on.
func (s *Store) finished(id string, err error) {
	if err != nil {
		return
	}
	if s.index.wasFed(id) {
		s.dropFeed(id)
	}
	if s.opts.MaxJobs > 0 && s.index.finishedCount() > s.opts.MaxJobs+s.opts.MaxJobs/slackShare {
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
}

// sweep deletes what is beyond the bounds and returns how many jobs that were.
func (s *Store) sweep(ctx context.Context) (int, error) {
	if s.opts.Writable != nil && s.opts.Writable() != nil {
		return 0, nil
	}
	v := s.victims()
	if len(v.ids) == 0 {
		return 0, nil
	}
	s.index.remove(v.ids)
	if v.below > 0 {
		if err := s.purge(ctx, jetstream.WithPurgeSequence(v.below)); err != nil {
			return 0, fmt.Errorf("purge records below %d: %w", v.below, s.broker.Explain(err))
		}
	}
	for _, id := range v.single {
		if err := s.purge(ctx, jetstream.WithPurgeSubject(recordSubject(id))); err != nil {
			return 0, fmt.Errorf("purge record %q: %w", id, s.broker.Explain(err))
		}
	}
	return len(v.ids), nil
}

// purge deletes messages. The index has forgotten them already, so what is
// begun is finished, also when the store is being closed.
func (s *Store) purge(ctx context.Context, what jetstream.StreamPurgeOpt) error {
	ctx, done := s.broker.Writing(ctx)
	defer done()
	return s.records.Purge(ctx, what)
}

// victims is what to delete: everything below one sequence at once, the rest
// subject by subject.
type victims struct {
	ids    []string
	below  uint64
	single []string
}

func (s *Store) victims() victims {
	// No record may be stored but not yet in the index while the smallest kept
	// sequence is looked for. What is created later has a larger one.
	s.creating.Lock()
	defer s.creating.Unlock()
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()

	excess := 0
	if s.opts.MaxJobs > 0 {
		excess = s.index.finished - s.opts.MaxJobs
	}
	tooOld := func(e *entry) bool {
		return s.opts.Retention > 0 && s.opts.Now().Sub(e.finishedAt) > s.opts.Retention
	}
	var v victims
	var out []*entry
	kept, top := uint64(0), uint64(0)
	for _, e := range s.index.order {
		if e.state.Final() && (len(out) < excess || tooOld(e)) {
			out = append(out, e)
			v.ids = append(v.ids, e.id)
			top = max(top, e.last)
		} else if kept == 0 || e.first < kept {
			kept = e.first
		}
	}
	// On a cluster the index may lag behind the stream: subjects only.
	if s.broker.Embedded() && len(out) > 0 {
		v.below = top + 1
		if kept > 0 {
			v.below = min(v.below, kept)
		}
	}
	for _, e := range out {
		if e.last >= v.below {
			v.single = append(v.single, e.id)
		}
	}
	return v
}
