package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"judged/internal/base/job"
	"judged/internal/engine"
	"judged/internal/engine/measure"
	"judged/internal/host/doctor"
	"judged/internal/host/slots"
	"judged/internal/queue"
	"judged/internal/store"
	"judged/internal/timing/stats"
)

// Observer is told what happens, for metrics.
type Observer interface {
	// JobDone tells the report of a job that has ended; queueWait below 0 is
	// unknown.
	JobDone(r *job.Report, queueWait time.Duration)
	AttemptDone(outcome Outcome)
}

// Store keeps the records of jobs; *store.Store is one.
type Store interface {
	Unfinished() []string
	Get(ctx context.Context, id string) (store.Record, error)
	Begin(ctx context.Context, id string, delivery int, cpus string) (store.Record, error)
	Emit(ctx context.Context, r store.Record, t job.TestReport) error
	Finish(ctx context.Context, r store.Record, rep job.Report) error
	Cancel(ctx context.Context, id string) (job.Report, error)
}

// Health knows which slots are fit to judge on; *slothealth.Monitor is one.
type Health interface {
	// Admit counts a job on a slot until leave is called, or says why no job may
	// run there.
	Admit(slot slots.Slot) (leave func(), err error)
	// Observe learns from the runs of a job.
	Observe(r *job.Report)
	// Borrow finds the place of one more run for the job that has the lease.
	Borrow(ctx context.Context, lease *slots.Lease, p stats.Placement) (measure.Place, error)
}

// Outcome is how an attempt at a job ended.
type Outcome string

// The outcomes.
const (
	Judged    Outcome = "done"
	Cancelled Outcome = "cancelled"
	Stale     Outcome = "stale"     // a newer attempt has the job
	Returned  Outcome = "returned"  // handed back to the queue
	Exhausted Outcome = "exhausted" // attempted too often: judged as IE
)

// Options are what a Dispatcher is made of. All but Writable are needed.
type Options struct {
	Engine     *engine.Engine
	Health     Health
	Pool       *slots.Pool
	Queue      *queue.Queue
	Store      Store
	Writable   func() error // why no report can be stored now; nil is always
	BlobPath   func(digest string) (string, error)
	Doctor     func() doctor.Report // its last word
	Observer   Observer
	MaxDeliver int           // attempts at a job before it is given up as IE
	Heartbeat  time.Duration // how often a job's lease is extended
	Log        *slog.Logger
}

// Dispatcher runs jobs.
type Dispatcher struct {
	o Options

	mu      sync.Mutex // guards running and paused
	running map[*run]bool
	paused  time.Time // no job is taken until then
}

// run is an attempt that can be cancelled. A job may have two for a moment,
// when its lease was lost and it was delivered again.
type run struct {
	id     string
	cancel context.CancelCauseFunc
}

// New makes a Dispatcher; Run starts it.
func New(o Options) *Dispatcher {
	return &Dispatcher{o: o, running: map[*run]bool{}}
}

// The causes that end a run from outside.
var (
	errCancelled = errors.New("the job was cancelled")
	errAborted   = errors.New("judged is ending")
)

// Run dispatches until drain is done, then finishes what runs and returns.
// When abort is done it hands what runs back to the queue.
func (d *Dispatcher) Run(drain, abort context.Context) error {
	var jobs sync.WaitGroup
	defer jobs.Wait()
	for {
		lease, delivery, err := d.next(drain)
		if drain.Err() != nil {
			return d.giveBack(lease, delivery)
		}
		if err != nil {
			return fmt.Errorf("dispatch: %w", err)
		}
		jobs.Go(func() {
			defer lease.Release()
			d.attempt(abort, lease, delivery)
		})
	}
}

// pause waits until jobs may be taken, see finish: what cannot be stored is
// judged for nothing.
func (d *Dispatcher) pause(ctx context.Context) {
	d.mu.Lock()
	left := time.Until(d.paused)
	d.mu.Unlock()
	rest(ctx, left)
	for told := false; ctx.Err() == nil && d.o.Writable != nil; told = true {
		err := d.o.Writable()
		switch {
		case err == nil && told:
			d.o.Log.Info("reports can be stored again: jobs are taken")
		case err != nil && !told:
			d.o.Log.Error("no job is taken until reports can be stored", "error", err)
		}
		if err == nil {
			return
		}
		rest(ctx, retryDelay)
	}
}

// next waits for a slot that a job can have, then for a job, and joins them.
func (d *Dispatcher) next(ctx context.Context) (*slots.Lease, *queue.Delivery, error) {
	if err := d.o.Pool.Await(ctx); err != nil {
		return nil, nil, err
	}
	d.pause(ctx)
	delivery, err := d.o.Queue.Take(ctx)
	if err != nil {
		return nil, nil, err
	}
	stop := d.keepAlive(delivery)
	defer stop()
	lease, err := d.o.Pool.Lease(ctx)
	return lease, delivery, err
}

// giveBack returns what next had in its hands when the end came.
func (d *Dispatcher) giveBack(lease *slots.Lease, delivery *queue.Delivery) error {
	if lease != nil {
		lease.Release()
	}
	if delivery == nil {
		return nil
	}
	d.o.Observer.AttemptDone(Returned)
	return delivery.Nak(context.Background(), 0)
}

// keepAlive extends the lease on a job until the returned function is called.
func (d *Dispatcher) keepAlive(delivery *queue.Delivery) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(d.o.Heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if err := delivery.Extend(); err != nil {
					d.o.Log.Warn("cannot extend the lease on a job; it may be judged twice and is stored once", "job", delivery.ID, "error", err)
				}
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// begin makes a job cancellable.
func (d *Dispatcher) begin(abort context.Context, id string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(abort)
	r := &run{id: id, cancel: cancel}
	d.mu.Lock()
	d.running[r] = true
	d.mu.Unlock()
	return ctx, func() {
		d.mu.Lock()
		delete(d.running, r)
		d.mu.Unlock()
		cancel(nil)
	}
}

// Cancel ends a job, waiting or running, and returns its report. The record
// goes first: whatever the run still does is fenced off.
func (d *Dispatcher) Cancel(ctx context.Context, id string) (job.Report, error) {
	report, err := d.o.Store.Cancel(ctx, id)
	if err != nil {
		return report, err
	}
	d.mu.Lock()
	for r := range d.running {
		if r.id == id {
			r.cancel(errCancelled)
		}
	}
	d.mu.Unlock()
	d.o.Observer.JobDone(&report, -1)
	return report, nil
}

// Sweep puts jobs back into the queue that were recorded and never got there,
// because judged ended between the two. Jobs that are there are left alone.
func (d *Dispatcher) Sweep(ctx context.Context) error {
	for _, id := range d.o.Store.Unfinished() {
		rec, err := d.o.Store.Get(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("sweep job %q: %w", id, err)
		}
		if !d.o.Queue.Serves(rec.Job.Pool) {
			continue // its own hosts see to it
		}
		if err := d.o.Queue.Put(ctx, id, rec.Job.Priority); err != nil {
			return fmt.Errorf("sweep job %q: %w", id, err)
		}
	}
	return nil
}
