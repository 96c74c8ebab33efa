package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"judged/internal/base/job"
	"judged/internal/broker"
)

// What callers tell apart.
var (
	ErrNotFound  = errors.New("no such job")
	ErrFinal     = errors.New("job is done or cancelled")    // acknowledge its delivery
	ErrStale     = errors.New("a newer attempt has the job") // leave the delivery alone
	ErrBadID     = errors.New("invalid job id")
	ErrBadCursor = errors.New("invalid cursor")
)

// Options bound what is kept.
type Options struct {
	Retention time.Duration    // finished jobs older than this are deleted; 0 keeps them
	MaxJobs   int              // most finished jobs kept; 0 is no bound
	Writable  func() error     // nothing is deleted while it is not nil: a deletion is a write; nil is always
	Now       func() time.Time // wall clock; nil is time.Now
	Log       *slog.Logger
}

// Store is the job records. Its methods may be called from any goroutine.
type Store struct {
	broker  *broker.Broker
	js      jetstream.JetStream
	records jetstream.Stream
	feed    jetstream.Stream
	values  jetstream.Stream
	opts    Options
	opened  uint64 // last sequence before Open; embedded, attempts up to here have no holder
	index   index
	recent  *recent // nil on a cluster, where others write too

	creating sync.RWMutex  // held for reading from a record's first write until the index has it
	kick     chan struct{} // wakes the sweeper
	stop     context.CancelFunc
	tasks    sync.WaitGroup
}

const (
	recordStream = "JUDGED_RECORDS"
	feedStream   = "JUDGED_FEED"
	// The feed holds the tests of running jobs; a client that comes back later
	// reads them from the report.
	feedAge   = time.Hour
	feedBytes = 16 << 20
)

// Open prepares the streams, reads the index and starts the sweeper. ctx
// bounds Open only. Close the store before the broker.
func Open(ctx context.Context, b *broker.Broker, opts Options) (*Store, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Store{broker: b, js: b.JetStream(), opts: opts, index: newIndex(), kick: make(chan struct{}, 1)}
	if b.Embedded() {
		s.recent = newRecent()
	}
	if err := s.openStreams(ctx); err != nil {
		return nil, fmt.Errorf("open job records: %w", b.Explain(err))
	}
	life, stop := context.WithCancel(context.Background())
	s.stop = stop
	if err := s.fill(ctx, life); err != nil {
		return nil, errors.Join(fmt.Errorf("read job records: %w", b.Explain(err)), s.Close())
	}
	s.tasks.Go(func() { s.sweeper(life) })
	return s, nil
}

// Close ends the store's goroutines. It writes nothing: all is stored already.
func (s *Store) Close() error {
	s.stop()
	s.tasks.Wait()
	return nil
}

func (s *Store) openStreams(ctx context.Context) (err error) {
	s.records, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: recordStream, Description: "judged: job records, every change of state",
		Subjects: []string{"records.*"}, Storage: jetstream.FileStorage, Replicas: s.broker.Replicas(), AllowDirect: true,
	})
	if err != nil {
		return err
	}
	s.opened = s.records.CachedInfo().State.LastSeq
	s.feed, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: feedStream, Description: "judged: test events of running jobs",
		Subjects: []string{"feed.*"}, Storage: jetstream.MemoryStorage, Replicas: s.broker.Replicas(), AllowDirect: true,
		MaxAge: feedAge, MaxBytes: feedBytes, Discard: jetstream.DiscardOld,
		// Readers listen to what the stream sends on, not to what it is sent:
		// whatever came before a live event can then be read from the stream.
		RePublish: &jetstream.RePublish{Source: "feed.*", Destination: "told.{{wildcard(1)}}"},
	})
	if err != nil {
		return err
	}
	return s.openValues(ctx)
}

// Get reads a record. While an attempt of this process runs, its report has the
// tests that are over. What it points to is shared: do not write.
func (s *Store) Get(ctx context.Context, id string) (Record, error) {
	r, err := s.get(ctx, id)
	if err == nil && r.Report.State == job.Running {
		r.Report.Tests = s.index.tests(id, r.begun)
	}
	return r, err
}

func (s *Store) get(ctx context.Context, id string) (Record, error) {
	if !ValidID(id) {
		return Record{}, fmt.Errorf("job %q: %w", id, ErrNotFound)
	}
	if r, ok := s.index.runs(id); ok {
		return r, nil
	}
	if s.recent != nil {
		if now, ok := s.index.summary(id); ok {
			if r, held := s.recent.get(id, now.Revision); held {
				return r, nil
			}
		}
	}
	m, err := s.records.GetLastMsgForSubject(ctx, recordSubject(id))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return Record{}, fmt.Errorf("job %q: %w", id, ErrNotFound)
	case err != nil:
		return Record{}, fmt.Errorf("read record %q: %w", id, s.broker.Explain(err))
	}
	return decode(m)
}

// Summary is what the index knows about a job.
type Summary struct {
	ID         string
	State      job.State
	CreatedAt  time.Time
	FinishedAt time.Time
	Labels     map[string]string // shared: do not write
	Revision   uint64
}

// Summary answers from memory.
func (s *Store) Summary(id string) (Summary, bool) { return s.index.summary(id) }

// Unfinished lists the jobs that are neither done nor cancelled, the oldest
// first, from memory. At start the daemon puts those of them into the queue
// that the queue does not hold.
func (s *Store) Unfinished() []string { return s.index.unfinished() }

// Wait returns the report of a job once it is final, or as it is when ctx is
// done. It costs a channel, no goroutine and no polling.
func (s *Store) Wait(ctx context.Context, id string) (job.Report, error) {
	for {
		e, changed, ok := s.index.watch(id)
		if !ok {
			return job.Report{}, fmt.Errorf("job %q: %w", id, ErrNotFound)
		}
		if e.state.Final() {
			return s.current(ctx, id)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s.current(ctx, id)
		}
	}
}

// current reads the report even when ctx is done: that is when Wait asks.
func (s *Store) current(ctx context.Context, id string) (job.Report, error) {
	r, err := s.Get(context.WithoutCancel(ctx), id)
	return r.Report, err
}
