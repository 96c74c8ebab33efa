package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"judged/internal/api"
	"judged/internal/jobs"
)

// TestNamespaceOfJudged checks that a caller cannot use judged's own IDs and labels, in any request that creates a job
// or a set.
func TestNamespaceOfJudged(t *testing.T) {
	f := newRejudgeFixture(t)
	lease := api.Lease{ID: "a", Attempt: 1}
	for _, id := range []string{jobs.RecheckID(lease), jobs.ScreeningID(lease), jobs.RejudgeID("r", "a"),
		jobs.OwnID("audit", "a"), keyedID("", "key")} {
		if jobs.ValidID(id) || !jobs.ValidStoredID(id) {
			t.Errorf("%q: a caller may send it %v, a job may have it %v", id, jobs.ValidID(id), jobs.ValidStoredID(id))
		}
		for _, path := range []string{id, strings.ReplaceAll(id, "@", "%40")} {
			wantProblem(t, f.submit("PUT", "/v1/jobs/"+path, small), "bad-request")
			wantProblem(t, f.ask("GET", "/v1/jobs/"+path, ""), "not-found")
			wantProblem(t, f.ask("DELETE", "/v1/jobs/"+path, ""), "not-found")
		}
		wantProblem(t, f.submit("POST", "/v1/rejudgings", `{"id": "`+id+`", "jobs": ["a"]}`), "bad-request")
	}
	for _, label := range []string{jobs.AuditLabel, jobs.ScreeningLabel, jobs.RecheckLabel, jobs.RejudgeLabel,
		jobs.RejudgingLabel, "@anything"} {
		body := `{"labels": {"` + label + `": "a"}, ` + small[1:]
		wantProblem(t, f.submit("PUT", "/v1/jobs/labelled", body), "invalid-job")
	}
}

// TestCopiesAreListed checks that lists of jobs have the audits and earlier reports of a job only by their labels.
func TestCopiesAreListed(t *testing.T) {
	f := newRejudgeFixture(t)
	taken, err := f.store.Take(t.Context(), api.Want{CPUs: "2-3"})
	if err != nil || taken.ID != "d" {
		t.Fatalf("took %q: %v", taken.ID, err)
	}
	rec, err := f.store.Get(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.store.Recheck(t.Context(), rec, api.Report{Verdict: api.TimeLimit}, api.CrossCheck{},
		f.now()); err != nil {
		t.Errorf("queue for another host: %v", err)
	}
	audit := jobs.Audit{ID: jobs.OwnID("audit", "d"), Original: "d"}
	if created, err := f.store.PutAudit(t.Context(), audit, rec.Job); err != nil || !created {
		t.Errorf("queue an audit: %v, %v", created, err)
	}
	for _, query := range []string{"%40audit_of%3Dd", "%40crosscheck_of%3Dd"} {
		if list := answer[jobList](t, f.ask("GET", "/v1/jobs?label="+query, "")); len(list.Jobs) != 1 {
			t.Errorf("%s lists %+v", query, list.Jobs)
		}
	}
}

// TestKeys checks that a request that is sent again with its Idempotency-Key has the same job.
func TestKeys(t *testing.T) {
	f := newRejudgeFixture(t)
	w := f.submit("POST", "/v1/jobs", small, "Idempotency-Key: mine")
	again := f.submit("POST", "/v1/jobs", small, "Idempotency-Key: mine")
	if at := w.Header().Get("Location"); w.Code != http.StatusAccepted || at != location(keyedID("", "mine")) ||
		again.Code != http.StatusOK || again.Header().Get("Location") != at {
		t.Errorf("%d at %q, again %d at %q", w.Code, at, again.Code, again.Header().Get("Location"))
	}
	wantProblem(t, f.submit("POST", "/v1/jobs", `{"head_bytes": 1, `+small[1:], "Idempotency-Key: mine"), "conflict")
	if got := f.ask("GET", w.Header().Get("Location"), ""); got.Code != http.StatusOK {
		t.Errorf("the job of a key: %d %s", got.Code, got.Body)
	}
}
