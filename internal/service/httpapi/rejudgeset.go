package httpapi

import (
	"context"
	"errors"
	"fmt"

	"judged/internal/base/job"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/jobs/jobspec"
)

const (
	// maxRejudged bounds a set, and maxSearched the jobs that are read to find it.
	maxRejudged = 10_000
	maxSearched = 100_000
)

// rejudge queues the jobs of a set and stores it.
func (s *Server) rejudge(ctx context.Context, q jobs.RejudgingRequest, digest string) (created bool, err error) {
	ids, err := s.selected(ctx, q)
	if err != nil {
		return false, err
	}
	set := jobs.NewRejudging{ID: q.ID, Digest: digest, Reason: q.Reason}
	found := rejudgeLookups{map[string]*jobs.Problem{}, map[string]bool{}}
	for _, id := range ids {
		reason, verdict, err := s.rejudgeOne(ctx, q, id, found)
		switch {
		case err != nil:
			return false, err
		case reason != "":
			set.Skipped = append(set.Skipped, jobs.SkippedJob{Job: id, Reason: reason})
		default:
			set.Jobs = append(set.Jobs, jobs.RejudgedReport{Job: id, Again: jobs.RejudgeID(q.ID, id), Old: verdict})
		}
	}
	if len(set.Jobs) == 0 {
		p := problem("nothing-to-rejudge", "select others", "no job that can be judged again")
		for _, skipped := range set.Skipped {
			p.Errors = append(p.Errors, jobspec.FieldError{Field: skipped.Job, Detail: skipped.Reason})
		}
		return false, p
	}
	created, err = s.jobs.PutRejudging(ctx, set)
	return created, rejudgingProblem(q.ID, err)
}

// selected are the jobs that a request names or selects, each once. None is queued before their number is known.
func (s *Server) selected(ctx context.Context, q jobs.RejudgingRequest) (ids []string, err error) {
	if q.Filter == nil {
		named := map[string]bool{}
		for _, id := range q.Jobs {
			if !named[id] {
				ids = append(ids, id)
			}
			named[id] = true
		}
		return ids, nil
	}
	filter := jobs.Filter{State: job.Done, Label: q.Filter.Labels, Verdict: q.Filter.Verdict, Priority: q.Filter.Priority,
		Pool: q.Filter.Pool, From: q.Filter.CreatedFrom, To: q.Filter.CreatedTo, Limit: pageMost}
	for searched := 0; ; {
		page, next, err := s.jobs.List(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, rep := range page {
			matches, err := s.matches(ctx, *q.Filter, rep)
			if err != nil {
				return nil, err
			}
			if matches {
				ids = append(ids, rep.ID)
			}
		}
		searched += len(page)
		switch {
		case len(ids) > s.most || next != "" && searched >= maxSearched:
			return nil, problem("too-large", "select fewer, such as by created_from and created_to",
				"more than %d jobs, or more than %d to search", s.most, maxSearched)
		case next == "":
			return ids, nil
		}
		filter.After = next
	}
}

// matches reports whether a job of the list is one of the filter, which the list does not know whole.
func (s *Server) matches(ctx context.Context, f jobs.RejudgingFilter, rep job.Report) (bool, error) {
	if _, again := rep.Labels[jobs.RejudgeLabel]; again || f.Problem == "" {
		return !again, nil
	}
	rec, err := s.jobs.Get(ctx, rep.ID)
	if errors.Is(err, jobs.ErrNotFound) {
		return false, nil // deleted meanwhile
	}
	return rec.Job.Problem == f.Problem, err
}

// rejudgeOne queues a job to be judged again. reason says why it cannot be.
func (s *Server) rejudgeOne(ctx context.Context, q jobs.RejudgingRequest, id string, found rejudgeLookups) (
	reason string, verdict job.Verdict, err error) {
	rec, err := s.jobs.Get(ctx, id)
	if errors.Is(err, jobs.ErrNotFound) {
		return "no such job", "", nil
	}
	if err != nil {
		return "", "", err
	}
	_, again := rec.Report.Labels[jobs.RejudgeLabel]
	switch {
	case again:
		return "it judges another job again; name that one", "", nil
	case rec.Report.Priority == job.Audit:
		return "it is an audit; name its original", "", nil
	case rec.Report.State != job.Done:
		return fmt.Sprintf("its state is %s", rec.Report.State), "", nil
	}
	j, reason, err := s.jobAgain(ctx, q, rec, found)
	if err != nil || reason != "" {
		return reason, "", err
	}
	n := jobs.Submission{ID: jobs.RejudgeID(q.ID, id), BodyDigest: q.ID, Job: j}
	if _, _, err := s.jobs.Put(ctx, n); errors.Is(err, jobs.ErrFull) {
		return "", "", s.full()
	} else if err != nil {
		return "", "", err
	}
	return "", rec.Report.Verdict, nil
}

// jobAgain is the job that judges one again: with the problem that is stored now, unless the request says otherwise.
func (s *Server) jobAgain(ctx context.Context, q jobs.RejudgingRequest, rec jobs.Record, found rejudgeLookups) (
	j job.Job, reason string, err error) {
	j = rec.Job
	j.Priority, j.Labels = job.Rejudge, map[string]string{jobs.RejudgeLabel: rec.ID, jobs.RejudgingLabel: q.ID}
	if j.Problem != "" && !q.SameProblem {
		p, err := s.problemNow(ctx, j.Problem, found)
		if err != nil {
			return j, "", err
		}
		if p == nil {
			return j, fmt.Sprintf("problem %q was deleted; send same_problem", j.Problem), nil
		}
		limits := j.Limits
		j = p.Include(j)
		j.Tests, j.Checker, j.Interactor, j.Passes, j.Limits = nil, nil, nil, 0, limits
		j.InputFile, j.OutputFile, j.Scheme, j.ProblemVersion = "", "", nil, p.Version
		if j, err = jobspec.Expand(j, p.Job()); err != nil {
			return j, err.Error(), nil
		}
	}
	j.Limits = q.Limits.Or(j.Limits)
	if q.Repeats != (job.Repeats{}) {
		j.Repeats = q.Repeats
	}
	if q.Pool != "" {
		j.Pool = q.Pool
	}
	if j, err = jobspec.Complete(s.config, j); err != nil {
		return j, err.Error(), nil
	}
	reason, err = s.missingFile(j, found)
	return j, reason, err
}

// rejudgeLookups are what the jobs of a set have in common.
type rejudgeLookups struct {
	problems map[string]*jobs.Problem // nil is one that was deleted
	stored   map[string]bool          // blobs
}

// problemNow returns the stored problem, nil if it was deleted.
func (s *Server) problemNow(ctx context.Context, id string, found rejudgeLookups) (*jobs.Problem, error) {
	if p, known := found.problems[id]; known {
		return p, nil
	}
	p, err := s.jobs.Problem(ctx, id)
	switch {
	case err == nil:
		found.problems[id] = &p
	case errors.Is(err, jobs.ErrNoProblem):
		found.problems[id] = nil
	default:
		return nil, err
	}
	return found.problems[id], nil
}

// missingFile says which file of a job is not stored any more, or "".
func (s *Server) missingFile(j job.Job, found rejudgeLookups) (reason string, err error) {
	_, err = jobspec.MapFiles(j, func(field string, f job.File) (job.File, error) {
		if reason != "" || f.Blob == "" || found.stored[f.Blob] {
			return f, nil
		}
		_, err := s.blobs.Stat(f.Blob)
		found.stored[f.Blob] = err == nil
		if errors.Is(err, blobs.ErrNotFound) {
			reason, err = fmt.Sprintf("the file of %s is not stored any more", field), nil
		}
		return f, err
	})
	return reason, err
}
