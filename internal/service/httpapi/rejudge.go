package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/text"
	"judged/internal/jobs"
	"judged/internal/jobs/intake"
)

// maxReason limits the reason of a rejudging, in bytes.
const maxReason = 1000

// postRejudging stores a set of jobs to be judged again, which is filled in the background. A repeated request does not
// create a second set.
func (s *Server) postRejudging(w http.ResponseWriter, r *http.Request) error {
	key, err := keyOf(r)
	if err != nil {
		return err
	}
	q, err := readStrict[api.RejudgingRequest](s, w, r)
	if err != nil {
		return err
	}
	if err := s.checkRejudging(r.Context(), &q); err != nil {
		return err
	}
	switch {
	case q.ID != "": // an ID does what a key does
	case key != "":
		q.ID = keyedSet(caller(r.Context()), key)
	default:
		q.ID = newID(s.now())
	}
	if err := s.accepts(); err != nil {
		return problem("not-ready", "try again later; GET /readyz shows when", "%s", err).retryAfter(retryNotReady)
	}
	digest, err := requestDigest(q)
	if err != nil {
		return err
	}
	created, err := s.jobs.PutRejudging(r.Context(), q, digest)
	if err != nil {
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
	s.log.Info("stored a rejudging", "rejudging", q.ID, by(r))
	return s.writeJSON(w, http.StatusCreated, view)
}

// requestDigest returns a digest that identifies a repeated request.
func requestDigest(q api.RejudgingRequest) (string, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return "", fmt.Errorf("encode the rejudging: %w", err)
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), nil
}

// checkRejudging refuses requests that cannot name any jobs.
func (s *Server) checkRejudging(ctx context.Context, q *api.RejudgingRequest) error {
	bad := func(next, detail string, args ...any) error { return problem("bad-request", next, detail, args...) }
	switch {
	case q.ID != "" && !jobs.ValidID(q.ID):
		return bad(idRule, "invalid id %.70q", q.ID)
	case (q.Jobs == nil) == (q.Filter == nil):
		return bad("send one of them", "want either jobs or filter")
	case q.Jobs != nil && len(q.Jobs) == 0:
		return bad("name at least one", "no jobs")
	case len(q.Jobs) > api.MaxRejudged:
		return bad("send several sets", "%d jobs, want at most %d", len(q.Jobs), api.MaxRejudged)
	}
	if err := text.CheckLine(q.Reason, maxReason); err != nil {
		return bad("send another reason, or none", "reason: %s", err)
	}
	for _, id := range q.Jobs {
		if !jobs.ValidStoredID(id) {
			return bad("name a job", "no job can have the id %.70q", id)
		}
	}
	if q.Filter != nil {
		if len(q.Filter.Labels) == 0 {
			q.Filter.Labels = nil
		}
		if reflect.ValueOf(*q.Filter).IsZero() {
			return bad(`select jobs, or all that are judged by {"created_from": "1970-01-01T00:00:00Z"}`,
				"the filter has no members")
		}
		if detail := invalidFilter(*q.Filter); detail != "" {
			return bad("correct the filter", "invalid filter: %s", detail)
		}
	}
	if err := intake.CheckChanges(s.config, q.Limits, q.Repeats); err != nil {
		return err
	}
	if q.Pool == "" {
		return nil
	}
	if !config.ValidPool(q.Pool) {
		return bad("use 1 to 64 letters, digits, - and _", "invalid pool %.70q", q.Pool)
	}
	found, err := s.intake.CheckPool(ctx, q.Pool)
	if err == nil && len(found) > 0 {
		err = problem("not-found", "see GET /v1/pools", "pool %s", found[0].Detail)
	}
	return err
}

// invalidFilter returns what is wrong with a filter, or "".
func invalidFilter(f api.RejudgingFilter) string {
	verdict := func(m api.Meaning) bool { return m.Word == string(f.Verdict) }
	switch {
	case len(f.Labels) > intake.MaxLabels:
		return fmt.Sprintf("%d labels, and no job has more than %d", len(f.Labels), intake.MaxLabels)
	case f.Verdict != "" && !slices.ContainsFunc(api.Verdicts(), verdict):
		return fmt.Sprintf("unknown verdict %.70q", f.Verdict)
	case f.Priority != "" && !slices.Contains(api.Priorities(), f.Priority):
		return fmt.Sprintf("unknown priority %.70q", f.Priority)
	case f.Pool != "" && !config.ValidPool(f.Pool):
		return fmt.Sprintf("invalid pool %.70q", f.Pool)
	case f.Problem != "" && !jobs.ValidID(f.Problem):
		return fmt.Sprintf("invalid problem %.70q", f.Problem)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Labels)) {
		if err := intake.CheckLabel(key, f.Labels[key]); err != nil {
			return err.Error()
		}
	}
	for member, at := range map[string]time.Time{"created_from": f.CreatedFrom, "created_to": f.CreatedTo} {
		if !at.IsZero() && !ofThisAge(at) {
			return fmt.Sprintf("%s is not a time of this age", member)
		}
	}
	return ""
}

// rejudgingProblem translates errors whose text differs from that for jobs.
func rejudgingProblem(id string, err error) error {
	switch {
	case errors.Is(err, jobs.ErrConflict):
		return problem("conflict", "use another id for another set", "rejudging %q exists with another body", id)
	case errors.Is(err, api.ErrFinal):
		return problem("final", "GET /v1/rejudgings/{id} shows its state", "%s",
			strings.TrimSuffix(err.Error(), ": "+api.ErrFinal.Error())) // that is about jobs
	}
	return err
}

func (s *Server) listRejudgings(r *http.Request) (any, error) {
	values, limit, err := pageOf(r)
	if err != nil {
		return nil, err
	}
	page, next, err := s.jobs.Rejudgings(r.Context(), values.Get("after"), limit)
	return api.RejudgingList{Rejudgings: page, Next: next}, err
}

// getRejudging responds with a rejudging and a page of its jobs.
func (s *Server) getRejudging(r *http.Request) (any, error) {
	values, limit, err := pageOf(r)
	if err != nil {
		return nil, err
	}
	changed := values.Get("changed")
	if changed != "" && changed != "true" && changed != "false" {
		return nil, problem("bad-request", "use true or false", "parameter changed: %.70q", changed)
	}
	id := r.PathValue("id")
	view, err := s.jobs.Rejudging(r.Context(), id)
	if err != nil {
		return nil, err
	}
	view.Page, view.Next, err = s.jobs.RejudgedPage(r.Context(), id, changed == "true", values.Get("after"), limit)
	if err != nil {
		return nil, err
	}
	return view, nil
}

// closeRejudging returns a handler that applies or cancels a rejudging. If the caller disconnects, the work continues in
// the background.
func (s *Server) closeRejudging(done string, end func(Jobs, context.Context, string) error,
) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		id := r.PathValue("id")
		if err := end(s.jobs, r.Context(), id); err != nil {
			return nil, rejudgingProblem(id, err)
		}
		view, err := s.jobs.Rejudging(r.Context(), id)
		if err != nil {
			return nil, err
		}
		s.log.Info(done+" a rejudging", "rejudging", id, "changed", view.Changed, by(r))
		return view, nil
	}
}
