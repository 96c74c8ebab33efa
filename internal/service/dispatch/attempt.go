package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/jobs/blobs"
	"judged/internal/timing/stats"
)

// attempt is one attempt at a job.
type attempt struct {
	*Dispatcher
	work  api.Work
	slot  *slots.Lease
	abort context.Context // done when judged has to exit immediately

	ctx     context.Context // of the run; its cause is the reason why the job was lost
	release func()          // ends the tasks that extend the lease
	unwatch func()          // ends the task that watches for cancellation
}

// newAttempt holds a job that was taken: it extends the lease until release, and ends the run if the lease is lost.
func (d *Dispatcher) newAttempt(abort context.Context, w api.Work) *attempt {
	ctx, end := context.WithCancelCause(abort)
	a := &attempt{Dispatcher: d, work: w, abort: abort, ctx: ctx}
	holding, stop := context.WithCancel(context.WithoutCancel(abort))
	var tasks sync.WaitGroup
	tasks.Go(func() { a.extend(holding, end) })
	watching, unwatch := context.WithCancel(holding)
	a.unwatch = unwatch
	tasks.Go(func() { a.watch(watching, end) })
	a.release = func() {
		stop()
		tasks.Wait()
		end(nil)
	}
	return a
}

// extend extends the lease periodically.
func (a *attempt) extend(ctx context.Context, end context.CancelCauseFunc) {
	for range poll.Every(ctx, a.o.Heartbeat) {
		_, err := a.o.Queue.Extend(ctx, a.work.Lease)
		switch {
		case ctx.Err() != nil:
			return
		case lost(err):
			end(err)
			return
		case err != nil:
			a.o.Log.Warn("cannot extend the lease on a job; another attempt may start, and one report is stored", "job",
				a.work.ID, "error", err)
		}
	}
}

// watch ends the run as soon as the lease is lost.
func (a *attempt) watch(ctx context.Context, end context.CancelCauseFunc) {
	for pause := retryDelay; ctx.Err() == nil; pause = longer(pause) {
		if err := a.o.Queue.Lost(ctx, a.work.Lease); lost(err) {
			end(err)
			return
		}
		poll.Sleep(ctx, pause)
	}
}

// close releases what an attempt holds and counts its outcome.
func (a *attempt) close(outcome Outcome) {
	if a.slot != nil {
		a.slot.Release()
	}
	a.release()
	a.o.Observer.AttemptDone(outcome)
}

// startError is the reason why a job could not be started here. The attempt does not count: another host, or this one
// later, may start it.
type startError struct{ error }

func (e startError) Unwrap() error { return e.error }

// run judges the job and stores the report, or returns the job.
func (a *attempt) run() {
	leave, err := a.o.Health.Admit(a.slot.Slot())
	if err != nil {
		a.close(a.failed(startError{err}))
		return
	}
	defer leave()
	outcome := a.attempt()
	// After the report is stored, unless the next job has already done it.
	a.o.Engine.Tidy(a.slot.Slot())
	a.close(outcome)
}

func (a *attempt) attempt() Outcome {
	report, err := a.judge()
	cause := context.Cause(a.ctx)
	switch {
	case errors.Is(cause, api.ErrStale):
		return Stale
	case lost(cause):
		return Cancelled
	case err == nil:
		return a.finish(report, Judged)
	case cause != nil: // judged is exiting
		return a.giveBack(api.Returned{Uncounted: true})
	case errors.As(err, new(startError)) || !a.work.Last:
		return a.failed(err)
	}
	a.o.Log.Error("giving up a job", "job", a.work.ID, "attempts", a.work.Report.Attempt, "error", err)
	return a.finish(judge.InternalError(report, err), Exhausted)
}

// judge locates the job's files and runs it.
func (a *attempt) judge() (api.Report, error) {
	if a.work.Exhausted {
		// If the last attempt had failed with an error, the job would have ended. These attempts ended with judged
		// itself.
		return api.Report{}, fmt.Errorf("judged ended %d times in the middle of this job; look into its log, and "+
			"submit the job again", a.work.Report.Attempt-1)
	}
	task, err := judge.NewTask(a.work.Job, api.ProgramName,
		func(f api.File) (string, error) { return a.o.BlobPath(f.Blob) })
	if errors.As(err, new(*judge.InvalidError)) {
		return judge.InternalError(api.Report{}, err), nil
	}
	if err != nil {
		return api.Report{}, startError{err}
	}
	task.Place = func(ctx context.Context, p stats.Placement) (measure.Place, error) {
		return Place(ctx, a.o.Engine, a.o.Health, a.slot, p)
	}
	n := 0
	return a.o.Engine.Judge(a.ctx, a.slot.Slot(), task, func(t api.TestReport) {
		n++
		if n == len(task.Tests) || t.Verdict.Failed() && task.Stop != api.StopNever {
			return // the report, which has the last test, follows immediately
		}
		if err := a.o.Queue.Emit(a.work.Lease, n, t); err != nil {
			a.o.Log.Warn("cannot report a test; the report will have it", "job", a.work.ID, "error", err)
		}
	})
}

// finish stores the report.
func (a *attempt) finish(report api.Report, outcome Outcome) Outcome {
	report.Host = new(a.o.Engine.Host(a.slot.Slot().CPUs, a.o.Doctor()))
	if j := a.work.Job; j.Problem != "" {
		report.Problem = &api.ProblemVersion{ID: j.Problem, Version: j.ProblemVersion}
	}
	a.unwatch() // Finish notices a cancellation
	kept := detachKept(&report)
	err := a.persist("cannot store a report", func(ctx context.Context) (err error) {
		// Until the outputs are stored, the slot takes no further job, whose outputs would have to wait in memory too.
		if report.Outputs, err = a.storeOutputs(ctx, kept); err != nil {
			return err
		}
		a.slot.Release() // the next job need not wait until this report is stored
		return a.o.Queue.Finish(ctx, a.work.Lease, report)
	})
	switch {
	case errors.Is(err, api.ErrStale):
		return Stale
	case lost(err):
		return Cancelled
	case err != nil:
		return a.failed(err)
	}
	of := a.work.Report
	report.ID, report.State, report.Priority = a.work.ID, api.Done, of.Priority
	a.o.Health.Observe(&report)
	a.o.Observer.JobDone(&report, of.StartedAt.Sub(of.CreatedAt))
	return outcome
}

// failed returns a job that judged failed to judge. The slot pauses: the cause, such as a host without memory, would
// fail the next job too, and must not go through all waiting jobs.
func (a *attempt) failed(err error) Outcome {
	delay := retryDelay << min(a.work.Attempt-1, 10)
	a.o.Log.Error("an attempt at a job failed; it will be repeated", "job", a.work.ID, "attempt", a.work.Attempt,
		"error", err)
	outcome := a.giveBack(api.Returned{Delay: min(delay, maxReturnDelay), Uncounted: errors.As(err, new(startError)),
		Reason: missing(err)})
	poll.Sleep(a.abort, retryDelay)
	return outcome
}

// missing returns a message about the file that a job waits for, or "". Platforms read it, so it omits other errors,
// which are for operators.
func missing(err error) string {
	if !errors.Is(err, blobs.ErrNotFound) {
		return ""
	}
	return "waits for a file: " + err.Error()
}

// giveBack returns the job to the queue.
func (a *attempt) giveBack(back api.Returned) Outcome {
	err := a.persist("cannot return a job",
		func(ctx context.Context) error { return a.o.Queue.Return(ctx, a.work.Lease, back) })
	if err != nil && !lost(err) {
		a.o.Log.Warn("cannot return a job; it will be attempted again when its lease expires", "job", a.work.ID,
			"error", err)
	}
	a.release() // nothing is left to extend, and the slot may pause for a while
	return Returned
}

// persist repeats f while the queue is unavailable, with increasing pauses. It gives up when judged has to exit
// immediately, and when the lease is lost.
func (a *attempt) persist(trouble string, f func(context.Context) error) error {
	for pause := retryDelay; ; pause = longer(pause) {
		err := f(context.WithoutCancel(a.abort))
		if !errors.Is(err, api.ErrUnavailable) || a.abort.Err() != nil {
			if pause > retryDelay && err == nil {
				a.o.Log.Info("the source of jobs is available again", "job", a.work.ID)
			}
			return err
		}
		if cause := context.Cause(a.ctx); lost(cause) {
			return cause
		}
		if pause == retryDelay {
			a.o.Log.Error(trouble+"; retrying", "job", a.work.ID, "error", err)
		}
		poll.Sleep(a.abort, pause)
	}
}
