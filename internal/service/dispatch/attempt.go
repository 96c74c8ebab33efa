package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"judged/internal/base/job"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/jobs/jobspec"
	"judged/internal/queue"
	"judged/internal/store"
	"judged/internal/timing/stats"
)

// attempt is one try at a job, and what becomes of its delivery.
func (d *Dispatcher) attempt(abort context.Context, lease *slots.Lease, delivery *queue.Delivery) {
	stop := d.keepAlive(delivery)
	outcome, err := d.judge(abort, lease, delivery)
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
func (d *Dispatcher) judge(abort context.Context, lease *slots.Lease, delivery *queue.Delivery) (Outcome, error) {
	slot := lease.Slot()
	leave, err := d.o.Health.Admit(slot)
	if err != nil {
		return Returned, err // an unfit slot is no fault of the job
	}
	defer leave()
	// Cancellable before the record says that it runs: Cancel looks for the
	// run after it has changed the record.
	ctx, end := d.begin(abort, delivery.ID)
	defer end()
	waiting, err := d.o.Store.Get(abort, delivery.ID)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && waiting.Report.State.Final():
		return Cancelled, nil
	case err != nil:
		return Returned, err
	}
	// If it goes to the disk it is on its way there while the program is loaded,
	// and there before the program is let go.
	begin := sync.OnceValues(func() (store.Record, error) {
		return d.o.Store.Begin(abort, delivery.ID, delivery.Attempt, slot.CPUs.String())
	})
	go begin()
	report, err := d.run(ctx, lease, waiting, begin)
	rec, begun := begin()
	switch {
	case errors.Is(begun, store.ErrFinal), errors.Is(begun, store.ErrNotFound):
		return Cancelled, nil
	case errors.Is(begun, store.ErrStale):
		return Stale, nil
	case begun != nil:
		return Returned, begun
	}
	// When the report is stored, unless a run of the next job has seen to it.
	defer d.o.Engine.Worker(slot).Tidy()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errCancelled):
		return Cancelled, nil
	case err != nil && cause != nil:
		return Returned, errors.Join(errAborted, err)
	case err != nil && rec.Report.Attempt < d.o.MaxDeliver:
		return Returned, err
	}
	// The next job need not wait until this one's report is on the disk.
	lease.Release()
	outcome := Judged
	if err != nil {
		d.o.Log.Error("a job is given up", "job", rec.ID, "attempts", rec.Report.Attempt, "error", err)
		report, outcome = judge.InternalError(report, err), Exhausted
	}
	return d.finish(abort, slot, rec, delivery, report, outcome)
}

// run finds the job's files and judges it. begin returns when the record says so.
func (d *Dispatcher) run(ctx context.Context, lease *slots.Lease, waiting store.Record, begin func() (store.Record, error)) (job.Report, error) {
	if waiting.Report.Attempt >= d.o.MaxDeliver {
		// What failed with an error was given up before. This one takes
		// judged down, or judged was killed over it too often to tell.
		return job.Report{}, fmt.Errorf("judged ended %d times in the middle of this job; look into its log, and submit the job again", d.o.MaxDeliver)
	}
	task, err := judge.NewTask(waiting.Job, jobspec.ProgramName, func(f job.File) (string, error) { return d.o.BlobPath(f.Blob) })
	if err != nil {
		return job.Report{}, err
	}
	if task.CheckerProgram != nil {
		if task.Jury, err = d.o.Engine.Jury(lease.Slot()); err != nil {
			return job.Report{}, err
		}
	}
	task.Place = func(ctx context.Context, p stats.Placement) (measure.Place, error) {
		return d.o.Health.Borrow(ctx, lease, p)
	}
	task.Ready = func() error {
		_, err := begin()
		return err
	}
	left := len(task.Tests)
	return judge.Run(ctx, d.o.Engine.Worker(lease.Slot()), task, func(t job.TestReport) {
		// The report, which tells of the last test, follows it at once.
		if left--; left == 0 || t.Verdict.Failed() && task.Stop != job.StopNever {
			return
		}
		rec, err := begin()
		if err == nil {
			err = d.o.Store.Emit(ctx, rec, t)
		}
		if err != nil && !errors.Is(err, store.ErrStale) {
			d.o.Log.Warn("cannot tell of a test; the report will", "job", waiting.ID, "error", err)
		}
	})
}

// finish stores the report, once.
func (d *Dispatcher) finish(abort context.Context, slot slots.Slot, rec store.Record, delivery *queue.Delivery, report job.Report, outcome Outcome) (Outcome, error) {
	host := d.o.Engine.Host(slot.CPUs, d.o.Doctor())
	report.Host = &host
	err := d.o.Store.Finish(context.WithoutCancel(abort), rec, report)
	switch {
	case errors.Is(err, store.ErrFinal):
		return Cancelled, nil
	case errors.Is(err, store.ErrStale):
		return Stale, nil
	case err != nil:
		// The slot is free already. What cannot be stored now, on a full disk, cannot be
		// for the next job either, which would be judged for nothing.
		d.mu.Lock()
		d.paused = time.Now().Add(retryDelay)
		d.mu.Unlock()
		return Returned, err
	}
	report.ID, report.State, report.Priority = rec.ID, job.Done, rec.Report.Priority
	d.o.Health.Observe(&report)
	d.o.Observer.JobDone(&report, rec.Report.StartedAt.Sub(delivery.QueuedAt))
	return outcome, nil
}
