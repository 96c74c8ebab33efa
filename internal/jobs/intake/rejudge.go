package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/jobs"
)

// RejudgingStore stores jobs and rejudgings; *jobs.Store implements it.
type RejudgingStore interface {
	UnfinishedRejudgings(ctx context.Context, limit int) ([]jobs.UnfinishedRejudging, error)
	RejudgingStored() <-chan struct{}
	SelectRejudged(ctx context.Context, u jobs.UnfinishedRejudging, found []jobs.SelectedJob,
		next jobs.RejudgingProgress) error
	UnqueuedJobs(ctx context.Context, id, after string, limit int) ([]string, error)
	SkipRejudged(ctx context.Context, id string, skipped api.SkippedJob) error
	RejudgingRoom(ctx context.Context) (int, error)
	QueueRejudged(ctx context.Context, id string, old jobs.SelectedJob, n jobs.Submission) error
	EndFilling(ctx context.Context, u jobs.UnfinishedRejudging, failure string) error
	CompleteRejudging(ctx context.Context, id string) error
	Rejudging(ctx context.Context, id string) (api.Rejudging, error)
	GetShort(ctx context.Context, id string) (jobs.Record, error)
	List(ctx context.Context, f jobs.Filter) (page []api.Report, next string, err error)
	Problem(ctx context.Context, id string) (api.Problem, error)
	Lead(ctx context.Context, task, holder string, lease time.Duration) (bool, error)
}

// RejudgerOptions configure a Rejudger. All members except Most are required.
type RejudgerOptions struct {
	Store RejudgingStore
	Blobs interface {
		Stat(digest string) (units.Bytes, error)
	}
	Config  func() config.Config   // its limits, slots and repeats are used
	Factors map[string]api.Factors // of the operator, by language
	Holder  string                 // name of this process among those that share the database
	Log     *slog.Logger
	Most    int // maximum number of jobs of a rejudging; 0 means api.MaxRejudged
}

// Rejudger fills rejudgings. Only one goroutine may use it.
type Rejudger struct {
	o      RejudgerOptions
	passed map[string]string // rejudging -> the last of its jobs that had to wait for its tenant
}

// NewRejudger returns a Rejudger.
func NewRejudger(o RejudgerOptions) *Rejudger {
	o.Most = cmp.Or(o.Most, api.MaxRejudged)
	return &Rejudger{o, map[string]string{}}
}

const (
	// every is how often a Rejudger checks for rejudgings that other processes have stored, and for room in the queue.
	every = 2 * time.Second
	// lease is the time after which another process takes over.
	lease = 15 * time.Second
	// sets is the number of rejudgings that are filled in turn.
	sets = 20
	// page is the number of jobs that a step selects or queues.
	page = 100
)

// Run fills rejudgings until ctx is done.
func (f *Rejudger) Run(ctx context.Context) {
	for ctx.Err() == nil {
		begun, pause := time.Now(), every
		busy, err := f.Step(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			f.o.Log.Warn("cannot fill a rejudging; retrying", "error", err)
			pause = 2 * every
		case busy:
			pause = time.Since(begun) // leaves half of the time to others
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		case <-f.o.Store.RejudgingStored():
		}
	}
}

// Step does a part of the work for each unfinished rejudging. busy means that there is more to do now.
func (f *Rejudger) Step(ctx context.Context) (busy bool, err error) {
	all, err := f.o.Store.UnfinishedRejudgings(ctx, sets)
	if err != nil || len(all) == 0 {
		return false, err
	}
	if lead, err := f.o.Store.Lead(ctx, "rejudgings", f.o.Holder, lease); err != nil || !lead {
		return false, err
	}
	var errs []error
	for _, u := range all {
		done, err := f.part(ctx, u)
		busy = busy || done
		if err != nil && !errors.Is(err, api.ErrFinal) { // cancelled meanwhile, or filled by another process
			errs = append(errs, fmt.Errorf("fill rejudging %q: %w", u.ID, err))
		}
	}
	return busy, errors.Join(errs...)
}

// part does a part of the work for one rejudging.
func (f *Rejudger) part(ctx context.Context, u jobs.UnfinishedRejudging) (busy bool, err error) {
	ctx = jobs.WithTenant(ctx, u.Tenant)
	switch {
	case u.State != api.RejudgingFilling:
		return true, f.o.Store.CompleteRejudging(ctx, u.ID)
	case u.Broken != nil:
		return true, f.fail(ctx, u, fmt.Sprintf("its request cannot be read: %s", u.Broken))
	case u.Progress.Jobs > f.o.Most:
		return true, f.fail(ctx, u,
			fmt.Sprintf("more than %d jobs; select fewer, such as by created_from and created_to", f.o.Most))
	case !u.Progress.Selected:
		return true, f.selectPage(ctx, u)
	}
	return f.queuePage(ctx, u)
}

// fail ends a rejudging before any of its jobs is queued.
func (f *Rejudger) fail(ctx context.Context, u jobs.UnfinishedRejudging, reason string) error {
	err := f.o.Store.EndFilling(ctx, u, reason)
	if err == nil {
		f.o.Log.Warn("a rejudging failed", "rejudging", u.ID, "reason", reason)
	}
	return err
}

// selectPage selects some jobs. No job is queued before their number is known.
func (f *Rejudger) selectPage(ctx context.Context, u jobs.UnfinishedRejudging) (err error) {
	var found []jobs.SelectedJob
	next := u.Progress
	if u.Request.Filter == nil {
		found, next, err = f.named(ctx, u)
	} else {
		found, next, err = f.filtered(ctx, u)
	}
	switch {
	case passing(ctx, err):
		return err
	case err != nil:
		return f.fail(ctx, u, fmt.Sprintf("its jobs cannot be listed: %s", err))
	}
	return f.o.Store.SelectRejudged(ctx, u, found, next)
}

// named looks up some of the jobs that the request names.
func (f *Rejudger) named(ctx context.Context, u jobs.UnfinishedRejudging) (
	found []jobs.SelectedJob, next jobs.RejudgingProgress, err error) {
	names := u.Request.Jobs
	next.Named = min(u.Progress.Named+page, len(names))
	next.Selected = next.Named == len(names)
	for _, id := range names[min(u.Progress.Named, next.Named):next.Named] {
		_, one, err := f.read(ctx, id)
		if err != nil {
			return nil, next, err
		}
		found = append(found, one)
	}
	return found, next, nil
}

// filtered selects the jobs of one page of the list.
func (f *Rejudger) filtered(ctx context.Context, u jobs.UnfinishedRejudging) (
	found []jobs.SelectedJob, next jobs.RejudgingProgress, err error) {
	q := u.Request.Filter
	list := jobs.Filter{State: api.Done, Label: q.Labels, Verdict: q.Verdict, Priority: q.Priority, Pool: q.Pool,
		From: q.CreatedFrom, To: q.CreatedTo, Limit: page, After: u.Progress.After}
	if list.To.IsZero() || list.To.After(u.CreatedAt) {
		list.To = u.CreatedAt // later jobs are not in the set
	}
	reports, after, err := f.o.Store.List(ctx, list)
	if err != nil {
		return nil, next, err
	}
	for _, rep := range reports {
		one := jobs.SelectedJob{ID: rep.ID, Verdict: rep.Verdict}
		if jobs.JudgesAgain(rep) {
			continue
		}
		if q.Problem != "" {
			rec, found, err := f.read(ctx, rep.ID)
			if err != nil {
				return nil, next, err
			}
			if found.Skipped == "" && rec.Job.Problem != q.Problem {
				continue
			}
			one = found
		}
		found = append(found, one)
	}
	return found, jobs.RejudgingProgress{After: after, Selected: after == ""}, nil
}

// read reads a job that may be judged again.
func (f *Rejudger) read(ctx context.Context, id string) (rec jobs.Record, one jobs.SelectedJob, err error) {
	one.ID = id
	rec, err = f.o.Store.GetShort(ctx, id)
	switch {
	case errors.Is(err, api.ErrNotFound):
		one.Skipped = "no such job"
	case passing(ctx, err):
		return rec, one, err
	case err != nil:
		one.Skipped = err.Error()
	default:
		one.Verdict, one.Skipped = rec.Report.Verdict, unfit(rec.Report)
	}
	return rec, one, nil
}

// passing reports whether the same call may succeed later. Other errors concern the stored data.
func passing(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, api.ErrUnavailable))
}

// unfit returns the reason why a job cannot be judged again, or "".
func unfit(rep api.Report) string {
	switch {
	case jobs.JudgesAgain(rep):
		return "it judges another job again; name that one"
	case rep.Priority == api.Audit:
		return "it is an audit; give its original"
	case rep.State != api.Done:
		return fmt.Sprintf("its state is %s", rep.State)
	}
	return ""
}
