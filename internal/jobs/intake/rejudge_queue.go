package intake

import (
	"context"
	"errors"
	"fmt"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// queuePage queues some of the selected jobs, as far as the queue has room. After the last one, the rejudging is
// filled. It passes over the jobs of a tenant whose places are taken: its next call begins after this page.
func (f *Rejudger) queuePage(ctx context.Context, u jobs.UnfinishedRejudging) (busy bool, err error) {
	after := f.passed[u.ID]
	delete(f.passed, u.ID)
	originals, err := f.o.Store.UnqueuedJobs(ctx, u.ID, after, page)
	if err != nil {
		return false, err
	}
	if len(originals) == 0 {
		if after != "" {
			return false, nil // begins again at the first one
		}
		return true, f.end(ctx, u)
	}
	room, err := f.o.Store.RejudgingRoom(ctx)
	if err != nil || room == 0 {
		return false, err
	}
	found := lookups{map[tenantProblem]*api.Problem{}, map[string]bool{}, map[string]error{}}
	for _, id := range originals[:min(room, len(originals))] {
		err := f.queue(ctx, u, id, found)
		switch {
		case errors.As(err, new(*jobs.QuotaError)):
			f.passed[u.ID] = id
		case errors.Is(err, jobs.ErrFull):
			return false, nil
		case err != nil:
			return false, err
		default:
			busy = true
		}
	}
	return busy, nil
}

// end completes the filling of a rejudging whose jobs are all queued or skipped.
func (f *Rejudger) end(ctx context.Context, u jobs.UnfinishedRejudging) error {
	v, err := f.o.Store.Rejudging(ctx, u.ID)
	if err != nil {
		return err
	}
	if v.Jobs == 0 {
		return f.fail(ctx, u, "no job that can be judged again; select others")
	}
	err = f.o.Store.EndFilling(ctx, u, "")
	if err == nil {
		f.o.Log.Info("filled a rejudging", "rejudging", u.ID, "jobs", v.Jobs, "skipped", v.SkippedN)
	}
	return err
}

// queue queues a selected job, or skips it.
func (f *Rejudger) queue(ctx context.Context, u jobs.UnfinishedRejudging, id string, found lookups) error {
	rec, one, err := f.read(ctx, id)
	if err != nil {
		return err
	}
	var again api.Job
	tenant := rec.Report.Tenant
	if one.Skipped == "" {
		if err := found.full[tenant]; err != nil {
			return err
		}
		if again, one.Skipped, err = f.again(ctx, u, rec, found); err != nil {
			return err
		}
	}
	if one.Skipped != "" {
		return f.o.Store.SkipRejudged(ctx, u.ID, api.SkippedJob{Job: id, Reason: one.Skipped})
	}
	err = f.o.Store.QueueRejudged(ctx, u.ID, one, jobs.Submission{Job: again, Tenant: tenant})
	if errors.As(err, new(*jobs.QuotaError)) {
		found.full[tenant] = err
	}
	return err
}

// again returns the job that judges rec again, with the current version of its problem unless the request says
// otherwise.
func (f *Rejudger) again(ctx context.Context, u jobs.UnfinishedRejudging, rec jobs.Record, found lookups) (
	j api.Job, skipped string, err error) {
	q := u.Request
	j = rec.Job
	j.Priority, j.Labels, j.Callback = api.Rejudge, nil, nil
	if j.Problem != "" && !q.SameProblem {
		p, err := f.problemNow(jobs.WithTenant(ctx, rec.Report.Tenant), j.Problem, found)
		if passing(ctx, err) {
			return j, "", err
		}
		if err != nil {
			return j, err.Error(), nil
		}
		if p == nil {
			return j, fmt.Sprintf("problem %q was deleted; send same_problem", j.Problem), nil
		}
		limits := j.Limits
		j = p.Include(j)
		j.Tests, j.Checker, j.Interactor, j.Passes, j.Limits = nil, nil, nil, 0, limits
		j.InputFile, j.OutputFile, j.Scheme, j.ProblemVersion = "", "", nil, p.Version
		if j, err = Expand(j, p.Job()); err != nil {
			return j, err.Error(), nil
		}
	}
	j.Limits = q.Limits.Or(j.Limits)
	if q.Repeats != (api.Repeats{}) {
		j.Repeats = q.Repeats
	}
	if q.Pool != "" {
		j.Pool = q.Pool
	}
	if j, err = Complete(f.o.Config(), j); err != nil {
		return j, err.Error(), nil
	}
	j = Scale(f.o.Config(), f.o.Factors, j)
	// Added after the check, because callers cannot send these labels.
	j.Labels = map[string]string{jobs.RejudgeLabel: rec.ID, jobs.RejudgingLabel: u.ID}
	skipped, err = f.missingFile(j, found)
	return j, skipped, err
}

// lookups caches lookups that the jobs of a page share.
type lookups struct {
	problems map[tenantProblem]*api.Problem // nil means deleted
	stored   map[string]bool                // blobs
	full     map[string]error               // tenants whose places are taken
}

// tenantProblem is a problem as a tenant sees it.
type tenantProblem struct{ tenant, id string }

// problemNow returns the current problem, or nil if it was deleted.
func (f *Rejudger) problemNow(ctx context.Context, id string, found lookups) (*api.Problem, error) {
	key := tenantProblem{jobs.TenantOf(ctx), id}
	if p, known := found.problems[key]; known {
		return p, nil
	}
	p, err := f.o.Store.Problem(ctx, id)
	switch {
	case err == nil:
		found.problems[key] = &p
	case errors.Is(err, jobs.ErrNoProblem):
		found.problems[key] = nil
	default:
		return nil, err
	}
	return found.problems[key], nil
}

// missingFile returns the reason why a file of a job is no longer stored, or "".
func (f *Rejudger) missingFile(j api.Job, found lookups) (reason string, err error) {
	_, err = j.MapFiles(func(field string, file api.File) (api.File, error) {
		if reason != "" || file.Blob == "" || found.stored[file.Blob] {
			return file, nil
		}
		_, err := f.o.Blobs.Stat(file.Blob)
		found.stored[file.Blob] = err == nil
		if errors.Is(err, blobs.ErrNotFound) {
			reason, err = fmt.Sprintf("the file of %s is not stored any more", field), nil
		}
		return file, err
	})
	return reason, err
}
