package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"judged/internal/base/config"
	"judged/internal/base/job"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/jobs/jobspec"
)

const (
	// maxRejudged bounds a set, and maxSearched the jobs that are read to find it.
	maxRejudged = 10_000
	maxSearched = 100_000
	maxReason   = 1000 // bytes
)

// postRejudging queues jobs to be judged again. A repeated request makes no second set, and completes one that was
// interrupted.
func (s *Server) postRejudging(w http.ResponseWriter, r *http.Request) error {
	q, err := readStrict[jobs.RejudgingRequest](s, w, r)
	if err != nil {
		return err
	}
	if err := s.checkRejudging(r.Context(), &q); err != nil {
		return err
	}
	if err := s.accepts(); err != nil {
		return problem("not-ready", "try again later; GET /readyz shows when", "%s", err).retryAfter(retryNotReady)
	}
	digest, err := requestDigest(q)
	if err != nil {
		return err
	}
	created := false
	if _, err := s.jobs.Rejudging(r.Context(), q.ID); errors.Is(err, jobs.ErrNoRejudging) {
		// Also if the caller hangs up: what is queued belongs to a set.
		created, err = s.rejudge(context.WithoutCancel(r.Context()), q, digest)
		if err != nil {
			return err
		}
	} else if _, err = s.jobs.PutRejudging(r.Context(), jobs.NewRejudging{ID: q.ID, Digest: digest}); err != nil {
		return rejudgingProblem(q.ID, err)
	}
	view, err := s.jobs.Rejudging(r.Context(), q.ID)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/rejudgings/"+q.ID)
	if !created {
		return s.writeJSON(w, http.StatusOK, view)
	}
	s.log.Info("rejudging jobs", "rejudging", q.ID, "jobs", view.Jobs, "skipped", len(view.Skipped), by(r))
	return s.writeJSON(w, http.StatusCreated, view)
}

// requestDigest recognizes a request that is repeated.
func requestDigest(q jobs.RejudgingRequest) (string, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return "", fmt.Errorf("encode the rejudging: %w", err)
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), nil
}

// checkRejudging refuses what can name no jobs, and chooses an ID where the caller has not.
func (s *Server) checkRejudging(ctx context.Context, q *jobs.RejudgingRequest) error {
	bad := func(next, detail string, args ...any) error { return problem("bad-request", next, detail, args...) }
	if q.ID == "" {
		q.ID = newID(s.now())
	}
	switch {
	case !jobs.ValidID(q.ID):
		return bad("use 1 to 64 letters, digits, . _ and -, a letter or digit first", "invalid id %q", q.ID)
	case len(q.Reason) > maxReason:
		return bad("send a shorter one", "the reason has %d bytes, want at most %d", len(q.Reason), maxReason)
	case (q.Jobs == nil) == (q.Filter == nil):
		return bad("send one of them", "want either jobs or filter")
	case q.Jobs != nil && len(q.Jobs) == 0:
		return bad("name at least one", "no jobs")
	case len(q.Jobs) > maxRejudged:
		return bad("send several sets", "%d jobs, want at most %d", len(q.Jobs), maxRejudged)
	}
	if q.Filter != nil {
		if detail := invalidFilter(*q.Filter); detail != "" {
			return bad("correct the filter", "invalid filter: %s", detail)
		}
	}
	if q.Pool == "" {
		return nil
	}
	found, err := s.unknownPool(ctx, q.Pool)
	if err == nil && len(found) > 0 {
		err = problem("not-found", "see GET /v1/pools", "pool %s", found[0].Detail)
	}
	return err
}

// invalidFilter says what is wrong with a filter, or "".
func invalidFilter(f jobs.RejudgingFilter) string {
	verdict := func(m job.Meaning) bool { return m.Word == string(f.Verdict) }
	switch {
	case f.Verdict != "" && !slices.ContainsFunc(job.Verdicts(), verdict):
		return fmt.Sprintf("unknown verdict %q", f.Verdict)
	case f.Priority != "" && !slices.Contains(job.Priorities(), f.Priority):
		return fmt.Sprintf("unknown priority %q", f.Priority)
	case f.Pool != "" && !config.ValidPool(f.Pool):
		return fmt.Sprintf("invalid pool %q", f.Pool)
	case f.Problem != "" && !jobs.ValidID(f.Problem):
		return fmt.Sprintf("invalid problem %q", f.Problem)
	}
	return ""
}

// rejudge queues the jobs of a set and stores it.
func (s *Server) rejudge(ctx context.Context, q jobs.RejudgingRequest, digest string) (created bool, err error) {
	set := jobs.NewRejudging{ID: q.ID, Digest: digest, Reason: q.Reason}
	problems := map[string]*jobs.Problem{}
	named := map[string]bool{}
	err = s.selected(ctx, q, func(id string) error {
		if named[id] {
			return nil
		}
		named[id] = true
		reason, verdict, err := s.rejudgeOne(ctx, q, id, problems)
		switch {
		case err != nil:
			return err
		case reason == notSelected:
			return nil
		case reason != "":
			set.Skipped = append(set.Skipped, jobs.SkippedJob{Job: id, Reason: reason})
		default:
			set.Jobs = append(set.Jobs, jobs.RejudgedReport{Job: id, Again: jobs.RejudgeID(q.ID, id), Old: verdict})
		}
		if len(set.Jobs)+len(set.Skipped) > maxRejudged {
			return problem("too-large", "select fewer, such as by created_from and created_to",
				"more than %d jobs", maxRejudged)
		}
		return nil
	})
	if err != nil {
		return false, err
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

// selected calls f for the jobs that a request names or selects.
func (s *Server) selected(ctx context.Context, q jobs.RejudgingRequest, f func(id string) error) error {
	for _, id := range q.Jobs {
		if err := f(id); err != nil {
			return err
		}
	}
	if q.Filter == nil {
		return nil
	}
	filter := jobs.Filter{State: job.Done, Label: q.Filter.Labels, Verdict: q.Filter.Verdict, Priority: q.Filter.Priority,
		Pool: q.Filter.Pool, From: q.Filter.CreatedFrom, To: q.Filter.CreatedTo, Limit: pageMost}
	for searched := 0; ; {
		page, next, err := s.jobs.List(ctx, filter)
		if err != nil {
			return err
		}
		for _, rep := range page {
			if err := f(rep.ID); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		if searched += len(page); searched >= maxSearched {
			return problem("too-large", "select fewer, such as by created_from and created_to",
				"more than %d jobs to search", maxSearched)
		}
		filter.After = next
	}
}

// notSelected is a reason that is not shown: the filter selects other jobs.
const notSelected = "-"

// rejudgeOne queues a job to be judged again. reason says why it cannot be.
func (s *Server) rejudgeOne(ctx context.Context, q jobs.RejudgingRequest, id string, problems map[string]*jobs.Problem) (
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
	case q.Filter != nil && (again || q.Filter.Problem != "" && q.Filter.Problem != rec.Job.Problem):
		return notSelected, "", nil
	case again:
		return "it judges another job again; name that one", "", nil
	case rec.Report.Priority == job.Audit:
		return "it is an audit; name its original", "", nil
	case rec.Report.State != job.Done:
		return fmt.Sprintf("its state is %s", rec.Report.State), "", nil
	}
	j, reason, err := s.jobAgain(ctx, q, rec, problems)
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
func (s *Server) jobAgain(ctx context.Context, q jobs.RejudgingRequest, rec jobs.Record, problems map[string]*jobs.Problem) (
	j job.Job, reason string, err error) {
	j = rec.Job
	j.Priority, j.Labels = job.Rejudge, map[string]string{jobs.RejudgeLabel: rec.ID, jobs.RejudgingLabel: q.ID}
	if j.Problem != "" && !q.SameProblem {
		p, known := problems[j.Problem]
		if !known {
			stored, err := s.jobs.Problem(ctx, j.Problem)
			if err != nil && !errors.Is(err, jobs.ErrNoProblem) {
				return j, "", err
			}
			if err == nil {
				p = &stored
			}
			problems[j.Problem] = p
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
	reason, err = s.missingFile(j)
	return j, reason, err
}

// missingFile says which file of a job is not stored any more, or "".
func (s *Server) missingFile(j job.Job) (reason string, err error) {
	_, err = jobspec.MapFiles(j, func(field string, f job.File) (job.File, error) {
		if reason != "" || f.Blob == "" {
			return f, nil
		}
		_, err := s.blobs.Stat(f.Blob)
		if errors.Is(err, blobs.ErrNotFound) {
			reason, err = fmt.Sprintf("the file of %s is not stored any more", field), nil
		}
		return f, err
	})
	return reason, err
}

// rejudgingProblem translates what is said differently of a job.
func rejudgingProblem(id string, err error) error {
	switch {
	case errors.Is(err, jobs.ErrConflict):
		return problem("conflict", "use another id for another set", "rejudging %q exists with another body", id)
	case errors.Is(err, jobs.ErrFinal):
		return problem("final", "GET /v1/rejudgings/{id} shows its state", "%s", err)
	}
	return err
}

func (s *Server) listRejudgings(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "after", "limit")
	if err != nil {
		return err
	}
	limit, err := limitOf(values)
	if err != nil {
		return err
	}
	page, next, err := s.jobs.Rejudgings(r.Context(), values.Get("after"), limit)
	if err != nil {
		return err
	}
	return s.writeJSON(w, http.StatusOK, jobs.RejudgingList{Rejudgings: page, Next: next})
}

// getRejudging answers with a rejudging and a page of its jobs.
func (s *Server) getRejudging(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "changed", "after", "limit")
	if err != nil {
		return err
	}
	limit, err := limitOf(values)
	if err != nil {
		return err
	}
	changed := values.Get("changed")
	if changed != "" && changed != "true" && changed != "false" {
		return problem("bad-request", "use true or false", "parameter changed: %q", changed)
	}
	id := r.PathValue("id")
	view, err := s.jobs.Rejudging(r.Context(), id)
	if err != nil {
		return err
	}
	view.Page, view.Next, err = s.jobs.RejudgedPage(r.Context(), id, changed == "true", values.Get("after"), limit)
	if err != nil {
		return err
	}
	return s.writeJSON(w, http.StatusOK, view)
}

func (s *Server) applyRejudging(w http.ResponseWriter, r *http.Request) error {
	return s.endRejudging(w, r, "applied", s.jobs.ApplyRejudging)
}

func (s *Server) cancelRejudging(w http.ResponseWriter, r *http.Request) error {
	return s.endRejudging(w, r, "cancelled", s.jobs.CancelRejudging)
}

// endRejudging also ends it if the caller hangs up.
func (s *Server) endRejudging(w http.ResponseWriter, r *http.Request, done string,
	end func(context.Context, string) error) error {
	id := r.PathValue("id")
	if err := end(context.WithoutCancel(r.Context()), id); err != nil {
		return rejudgingProblem(id, err)
	}
	view, err := s.jobs.Rejudging(r.Context(), id)
	if err != nil {
		return err
	}
	s.log.Info(done+" a rejudging", "rejudging", id, "changed", view.Changed, by(r))
	return s.writeJSON(w, http.StatusOK, view)
}
