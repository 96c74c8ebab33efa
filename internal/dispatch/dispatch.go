package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"judged/internal/court"
	"judged/internal/doctor"
	"judged/internal/intake"
	"judged/internal/job"
	"judged/internal/judge"
	"judged/internal/queue"
	"judged/internal/slots"
	"judged/internal/store"
)

// Observer is told what happens, for metrics.
type Observer interface {
	// JobDone tells the report of a job that has ended; queueWait below 0 is
	// unknown.
	JobDone(r *job.Report, queueWait time.Duration)
	AttemptDone(outcome Outcome)
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

// Options are what a Dispatcher is made of. All are needed.
type Options struct {
	Court      *court.Court
	Pool       *slots.Pool
	Queue      *queue.Queue
	Store      *store.Store
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

	mu      sync.Mutex // guards running
	running map[*run]bool
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
			d.attempt(abort, lease.Slot(), delivery)
		})
	}
}

// next waits for an idle slot, then for a job, and joins them.
func (d *Dispatcher) next(ctx context.Context) (*slots.Lease, *queue.Delivery, error) {
	lease, err := d.o.Pool.Lease(ctx)
	if err != nil {
		return nil, nil, err
	}
	lease.Release()
	delivery, err := d.o.Queue.Take(ctx)
	if err != nil {
		return nil, nil, err
	}
	stop := d.keepAlive(delivery)
	defer stop()
	lease, err = d.o.Pool.Lease(ctx)
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

// attempt is one try at a job, and what becomes of its delivery.
func (d *Dispatcher) attempt(abort context.Context, slot slots.Slot, delivery *queue.Delivery) {
	stop := d.keepAlive(delivery)
	outcome, err := d.judge(abort, slot, delivery)
	stop() // extending a lease that was given back takes it again
	d.o.Observer.AttemptDone(outcome)
	// The broker must hear of it even while judged is ending.
	ctx := context.WithoutCancel(abort)
	switch outcome {
	case Stale:
		delivery.Forget()
	case Returned:
		delay := retryDelay
		if errors.Is(err, errAborted) {
			delay = 0
		} else {
			d.o.Log.Error("an attempt at a job failed; it is tried again", "job", delivery.ID, "attempt", delivery.Attempt, "error", err)
		}
		err = delivery.Nak(ctx, delay)
		// What failed this job, a full disk or a host without memory, fails
		// the next one too: the queue must not be run through.
		defer rest(abort, delay)
	default:
		err = delivery.Ack(ctx)
	}
	if err != nil && !errors.Is(err, errAborted) {
		d.o.Log.Warn("cannot tell the queue what became of a job; it is delivered again", "job", delivery.ID, "error", err)
	}
}

// retryDelay is how long a job waits after judged itself has failed at it, and
// the slot with it.
const retryDelay = time.Second

// rest waits, but not beyond ctx.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// judge is the way of a job from its record to its report.
func (d *Dispatcher) judge(abort context.Context, slot slots.Slot, delivery *queue.Delivery) (Outcome, error) {
	if err := d.o.Court.Fit(slot.CPUs); err != nil {
		// A slot that is not fit is no fault of the job.
		return Returned, errors.Join(err, d.o.Pool.Drain(slot.CPUs, err.Error()))
	}
	// Cancellable before the record says that it runs: Cancel looks for the
	// run after it has changed the record.
	ctx, end := d.begin(abort, delivery.ID)
	defer end()
	rec, err := d.o.Store.Begin(abort, delivery.ID, delivery.Attempt, slot.CPUs.String())
	switch {
	case errors.Is(err, store.ErrFinal), errors.Is(err, store.ErrNotFound):
		return Cancelled, nil
	case errors.Is(err, store.ErrStale):
		return Stale, nil
	case err != nil:
		return Returned, err
	}
	report, err := d.run(ctx, slot, rec)
	// While the report is on its way to the disk.
	d.o.Court.Stand(slot).Tidy()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errCancelled):
		return Cancelled, nil
	case err != nil && cause != nil:
		return Returned, errors.Join(errAborted, err)
	case err != nil && rec.Report.Attempt < d.o.MaxDeliver:
		return Returned, err
	}
	outcome := Judged
	if err != nil {
		d.o.Log.Error("a job is given up", "job", rec.ID, "attempts", rec.Report.Attempt, "error", err)
		report, outcome = judge.InternalError(report, err), Exhausted
	}
	return d.finish(abort, slot, rec, delivery, report, outcome)
}

// run finds the job's files and judges it.
func (d *Dispatcher) run(ctx context.Context, slot slots.Slot, rec store.Record) (job.Report, error) {
	if rec.Report.Attempt > d.o.MaxDeliver {
		// What failed with an error was given up before. This one takes
		// judged down, or judged was killed over it too often to tell.
		return job.Report{}, fmt.Errorf("judged ended %d times in the middle of this job; look into its log, and submit the job again", d.o.MaxDeliver)
	}
	task, err := judge.NewTask(rec.Job, intake.ProgramName, func(f job.File) (string, error) { return d.o.BlobPath(f.Blob) })
	if err != nil {
		return job.Report{}, err
	}
	return judge.Run(ctx, d.o.Court.Stand(slot), task, func(t job.TestReport) {
		if err := d.o.Store.Emit(ctx, rec, t); err != nil && !errors.Is(err, store.ErrStale) {
			d.o.Log.Warn("cannot tell of a test; the report will", "job", rec.ID, "error", err)
		}
	})
}

// finish stores the report, once.
func (d *Dispatcher) finish(abort context.Context, slot slots.Slot, rec store.Record, delivery *queue.Delivery, report job.Report, outcome Outcome) (Outcome, error) {
	host := d.o.Court.Host(slot.CPUs, d.o.Doctor())
	report.Host = &host
	err := d.o.Store.Finish(context.WithoutCancel(abort), rec, report)
	switch {
	case errors.Is(err, store.ErrFinal):
		return Cancelled, nil
	case errors.Is(err, store.ErrStale):
		return Stale, nil
	case err != nil:
		return Returned, err
	}
	report.ID, report.State, report.Priority = rec.ID, job.Done, rec.Report.Priority
	d.o.Observer.JobDone(&report, rec.Report.StartedAt.Sub(delivery.QueuedAt))
	return outcome, nil
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
		if err := d.o.Queue.Put(ctx, id, rec.Job.Priority); err != nil {
			return fmt.Errorf("sweep job %q: %w", id, err)
		}
	}
	return nil
}
