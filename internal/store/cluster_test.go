package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"judged/internal/base/job"
	"judged/internal/broker"
	"judged/internal/store"
	"judged/internal/testkit"
)

// natsServer is a server as an operator runs it, on a free port.
func natsServer(t *testing.T) (url string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("server is not ready")
	}
	return s.ClientURL()
}

// TestTwoDaemons shares a server by URL: what one writes the other lists,
// waits for and tells, and delivery numbers fence across them.
func TestTwoDaemons(t *testing.T) {
	url := natsServer(t)
	a := open(t, broker.Options{URL: url}, store.Options{})
	a.create(t, "before")
	b := open(t, broker.Options{URL: url}, store.Options{})
	a.create(t, "x")
	testkit.WaitFor(t, 10*time.Second, "the other index", func() bool {
		_, ok := b.store.Summary("x")
		return ok
	})
	if diff := cmp.Diff([]string{"before", "x"}, b.store.Unfinished()); diff != "" {
		t.Errorf("unfinished (-want +got):\n%s", diff)
	}

	type ended struct {
		rep job.Report
		err error
	}
	waited, fed := make(chan ended), make(chan []string)
	go func() { rep, err := b.store.Wait(context.Background(), "x"); waited <- ended{rep, err} }()
	go func() {
		var got []string
		for e, err := range b.store.Events(context.Background(), "x", 0) {
			if err != nil {
				got = append(got, err.Error())
			}
			got = append(got, name(e))
		}
		fed <- got
	}()
	if err := a.queue.Put(t.Context(), "x", job.Contest); err != nil {
		t.Fatal(err)
	}
	d, err := b.queue.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	old := b.begin(t, "x", d.Attempt)
	if err := d.Nak(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if d, err = a.queue.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := a.begin(t, "x", d.Attempt)
	rep := sampleReport(3, 1)
	emit(t, a, r, rep)
	if err := b.store.Finish(t.Context(), old, rep); !errors.Is(err, store.ErrStale) {
		t.Errorf("late finish: error %v", err)
	}
	if err := a.store.Finish(t.Context(), r, rep); err != nil {
		t.Fatal(err)
	}
	if err := d.Ack(t.Context()); err != nil {
		t.Error(err)
	}
	if e := <-waited; e.err != nil || e.rep.State != job.Done || e.rep.Attempt != 2 {
		t.Errorf("waited for %+v", e)
	}
	want := []string{"queued", "running", "running", "test 0", "test 1", "test 2", "done"}
	if diff := cmp.Diff(want, <-fed); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if _, err := b.store.Begin(t.Context(), "x", 3, "1"); !errors.Is(err, store.ErrFinal) {
		t.Errorf("begin of a done job: error %v", err)
	}
	if got := fmt.Sprint(pages(t, b, store.Filter{State: job.Done})); got != "[x]" {
		t.Errorf("list %s", got)
	}
}

// TestRestartOfDaemonOnCluster begins a job and restarts: unlike embedded, the
// delivery may still be held, so only a newer one gets the job.
func TestRestartOfDaemonOnCluster(t *testing.T) {
	url := natsServer(t)
	a := open(t, broker.Options{URL: url}, store.Options{})
	a.create(t, "x")
	a.begin(t, "x", 1)
	a.close()
	b := open(t, broker.Options{URL: url}, store.Options{})
	if _, err := b.store.Begin(t.Context(), "x", 1, "1"); !errors.Is(err, store.ErrStale) {
		t.Errorf("the same delivery again: error %v", err)
	}
	if r := b.begin(t, "x", 2); r.Report.Attempt != 2 {
		t.Errorf("attempt %d", r.Report.Attempt)
	}
}
