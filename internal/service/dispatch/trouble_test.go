package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"judged/internal/base/job"
	"judged/internal/broker"
	"judged/internal/queue"
	"judged/internal/store"
	"judged/internal/testkit"
)

// A dispatcher that can take no jobs any more says so, whatever else it has begun.
func TestRunEndsWithTheQueue(t *testing.T) {
	f := newFixture(t, false)
	b, err := broker.Start(t.Context(), broker.Options{Dir: t.TempDir()})
	f.must(err)
	f.queue, err = queue.Open(t.Context(), b, queue.Options{})
	f.must(err)
	f.dispatcher(Options{}, f.eng.Slots()...)
	f.must(b.Close())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := f.d.Run(ctx, ctx); err == nil || ctx.Err() != nil {
		t.Errorf("it ended with %v, %v", err, ctx.Err())
	}
}

// While nothing can be stored no further job is judged for nothing.
func TestPauseWhenReportsCannotBeStored(t *testing.T) {
	f := newFixture(t, false)
	records, err := broker.Start(t.Context(), broker.Options{Dir: t.TempDir()})
	f.must(err)
	f.store, err = store.Open(t.Context(), records, store.Options{})
	f.must(err)
	f.closing(f.store.Close)
	f.blob = sample(t, "measure/tiny.c")
	f.dispatcher(Options{}, f.eng.Slots()...)
	f.submit("a", "p")
	f.must(records.Close())
	drain := f.run()
	testkit.WaitFor(t, patience, "an attempt to be given back", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.outcomes) > 0 && f.outcomes[0] == Returned
	})
	drain()
	if f.d.paused.IsZero() {
		t.Error("the next job is taken at once")
	}
	f.d.paused = time.Now().Add(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	f.d.pause(ctx)
	if ctx.Err() == nil {
		t.Error("it does not wait")
	}
}

// Several pools may share a server: each sweeps up its own jobs.
func TestSweepLeavesOtherPools(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server is not ready")
	}
	f := newFixture(t, false)
	b, err := broker.Start(t.Context(), broker.Options{URL: s.ClientURL()})
	f.must(err)
	f.closing(b.Close)
	f.store, err = store.Open(t.Context(), b, store.Options{})
	f.must(err)
	f.closing(f.store.Close)
	f.queue, err = queue.Open(t.Context(), b, queue.Options{Pool: "b"})
	f.must(err)
	f.dispatcher(Options{}, f.eng.Slots()...)
	for id, pool := range map[string]string{"theirs": "a", "ours": "b", "default": ""} {
		_, err := f.store.Create(t.Context(), store.Record{ID: id, Job: job.Job{Pool: pool, Priority: job.Contest}})
		f.must(err)
	}
	f.must(f.d.Sweep(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	d, err := f.queue.Take(ctx)
	f.must(err)
	if d.ID != "ours" {
		t.Errorf("took %q", d.ID)
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if d, err := f.queue.Take(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("took %+v, %v, too", d, err)
	}
}
