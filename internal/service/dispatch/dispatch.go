package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/poll"
	"judged/internal/engine/judge"
	"judged/internal/engine/jury"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/timing/stats"
)

// Observer receives events for metrics.
type Observer interface {
	// JobDone receives the report of a judged job, and how long it waited for its last attempt.
	JobDone(r *api.Report, queueWait time.Duration)
	AttemptDone(outcome Outcome)
}

// Engine judges on the slots of this host; *engine.Engine implements it.
type Engine interface {
	// Judge judges a task on a slot, and calls decided after each test.
	Judge(ctx context.Context, s slots.Slot, t judge.Task, decided func(api.TestReport)) (api.Report, error)
	// Worker returns the worker that runs single programs on a slot.
	Worker(s slots.Slot) *measure.Worker
	// Jury returns the runner of the jury's programs for jobs on a slot.
	Jury(s slots.Slot) (*jury.Runner, error)
	// Tidy prepares a slot for the next run, in the background.
	Tidy(s slots.Slot)
	// Host describes the host, with the latest report of doctor.
	Host(cpus cpuset.Set, d api.DoctorReport) api.HostReport
}

// Health decides which slots are fit to judge on; *Monitor implements it.
type Health interface {
	// Admit counts a job on a slot until leave is called, or returns the reason why no job may run there.
	Admit(slot slots.Slot) (leave func(), err error)
	// Observe records the runs of a job.
	Observe(r *api.Report)
	// Borrow finds a slot for one more run of the job that has the lease.
	Borrow(ctx context.Context, lease *slots.Lease, p stats.Placement) (loan *slots.Lease, err error)
	// Deviation returns by what ratio reference kernels take longer than usual on a slot that the caller holds; 0 means
	// within their guard band.
	Deviation(ctx context.Context, slot slots.Slot) float64
}

// Outcome is the outcome of an attempt at a job.
type Outcome string

// The outcomes.
const (
	Judged    Outcome = "done"
	Cancelled Outcome = "cancelled"
	Stale     Outcome = "stale"     // another attempt has the job
	Returned  Outcome = "returned"  // to be attempted again
	Exhausted Outcome = "exhausted" // too many attempts: judged as IE
)

// Options configure a Dispatcher. All are required.
type Options struct {
	Engine   Engine
	Health   Health
	Pool     *slots.Pool
	Queue    Queue
	Want     api.Want // for every Take; its CPUs are those of the slot
	BlobPath func(digest string) (string, error)
	// Keep stores an output durably and returns its digest.
	Keep      func(ctx context.Context, content string) (digest string, err error)
	Doctor    func() api.DoctorReport // returns its last report
	Observer  Observer
	Heartbeat time.Duration // how often a lease is extended
	Log       *slog.Logger
}

// Dispatcher runs jobs.
type Dispatcher struct{ o Options }

// New returns a Dispatcher; Run starts it.
func New(o Options) *Dispatcher { return &Dispatcher{o} }

const (
	// retryDelay is the pause before a dispatcher retries a failed operation.
	retryDelay = time.Second
	// maxRetryDelay limits the pause, which doubles.
	maxRetryDelay = 8 * time.Second
	// maxReturnDelay limits the pause between attempts at a job that no host can start.
	maxReturnDelay = time.Minute
	// leasePatience is how long a job waits for the slot that it was taken for: an examination of the slot stops when a
	// job needs it.
	leasePatience = time.Second
)

// Run dispatches until drain is done, waits for the running jobs, and returns. When abort is done, it returns the
// running jobs to the queue.
func (d *Dispatcher) Run(drain, abort context.Context) {
	var attempts sync.WaitGroup
	defer attempts.Wait()
	for drain.Err() == nil {
		if a := d.next(drain, abort); a != nil {
			attempts.Go(a.run)
		}
	}
}

// next waits for a free slot and takes a job for it. It returns nil if the caller should retry: the slot is gone, or
// ctx is done.
func (d *Dispatcher) next(ctx, abort context.Context) *attempt {
	slot, err := d.o.Pool.Await(ctx)
	if err != nil {
		return nil
	}
	want := d.o.Want
	want.CPUs = slot.CPUs.String()
	work, ok := d.take(ctx, want)
	if !ok {
		return nil
	}
	a := d.newAttempt(abort, work)
	if a.slot = d.lease(ctx, slot); a.slot == nil {
		a.close(a.giveBack(api.Returned{Uncounted: true}))
		return nil
	}
	return a
}

// take takes a job. While the queue fails, it retries with increasing pauses.
func (d *Dispatcher) take(ctx context.Context, want api.Want) (api.Work, bool) {
	for pause := retryDelay; ; pause = longer(pause) {
		work, err := d.o.Queue.Take(ctx, want)
		switch {
		case err == nil && pause > retryDelay:
			d.o.Log.Info("jobs are taken again")
			return work, true
		case err == nil:
			return work, true
		case ctx.Err() != nil:
			return api.Work{}, false
		case pause == retryDelay:
			d.o.Log.Error("cannot take jobs; retrying", "error", err)
		}
		poll.Sleep(ctx, pause)
	}
}

// lease leases the slot that a job was taken for: the job was announced as running there. It returns nil if another
// caller has leased the slot meanwhile, or taken it out of use.
func (d *Dispatcher) lease(ctx context.Context, slot slots.Slot) *slots.Lease {
	waiting, cancel := context.WithTimeout(ctx, leasePatience)
	defer cancel()
	lease, err := d.o.Pool.Lease(waiting)
	if err != nil {
		return nil
	}
	if !slices.Equal(lease.Slot().CPUs, slot.CPUs) {
		lease.Release()
		return nil
	}
	return lease
}

// lost reports whether an error of the queue means that the attempt no longer has its job.
func lost(err error) bool {
	return errors.Is(err, api.ErrFinal) || errors.Is(err, api.ErrStale) || errors.Is(err, api.ErrNotFound)
}

// longer returns the pause that follows pause.
func longer(pause time.Duration) time.Duration { return min(2*pause, maxRetryDelay) }
