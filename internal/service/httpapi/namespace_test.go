package httpapi

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// oldID returns an ID that an earlier version gave to a job that it created.
func oldID(kind, format string, args ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return kind + "-" + hex.EncodeToString(sum[:16])
}

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

// TestNamesThatJudgedHadBefore checks that jobs of callers with IDs and labels that judged's own jobs used to have do
// not interfere with anything.
func TestNamesThatJudgedHadBefore(t *testing.T) {
	f := newRejudgeFixture(t)
	lease := api.Lease{ID: "d", Attempt: 1}
	squatted := []string{oldKeyedID("", "mine"),
		oldID("crosscheck", "%q %d", lease.ID, lease.Attempt),
		oldID("screening", "%q %d", lease.ID, lease.Attempt),
		oldID("rejudge", "%q %q", "set", "a"),
		oldID("audit", "%q", []string{"d", ""})}
	other := strings.Replace(small, "{", `{"priority": "background", `, 1)
	for _, id := range squatted {
		if w := f.submit("PUT", "/v1/jobs/"+id, other); w.Code != http.StatusAccepted {
			t.Fatalf("%s: %d %s", id, w.Code, w.Body)
		}
	}

	// The key is still free.
	w := f.submit("POST", "/v1/jobs", small, "Idempotency-Key: mine")
	if got := w.Header().Get("Location"); w.Code != http.StatusAccepted || got != location(keyedID("", "mine")) {
		t.Errorf("a key whose old ID is taken: %d, location %q", w.Code, got)
	}
	again := f.submit("POST", "/v1/jobs", small, "Idempotency-Key: mine")
	if again.Code != http.StatusOK || again.Header().Get("Location") != w.Header().Get("Location") {
		t.Errorf("the same again: %d, location %q", again.Code, again.Header().Get("Location"))
	}
	wantProblem(t, f.submit("POST", "/v1/jobs", other+" ", "Idempotency-Key: mine"), "conflict")
	if got := f.ask("GET", w.Header().Get("Location"), ""); got.Code != http.StatusOK {
		t.Errorf("the job of a key: %d %s", got.Code, got.Body)
	}

	// The job can be stored for a cross-check and for a screening pool, audited, and judged again.
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
	if view := f.rejudge(`{"id": "set", "jobs": ["a"]}`); view.Queued != 1 || len(view.Skipped) > 0 {
		t.Errorf("judge again: %+v", view)
	}

	// A label does not prevent a job from being judged again.
	for _, label := range []string{"rejudge_of", "rejudging", "audit_of"} {
		id := "labelled-" + label
		body := `{"priority": "contest", "labels": {"` + label + `": "a", "by": "caller"}, ` + small[1:]
		if w := f.submit("PUT", "/v1/jobs/"+id, body); w.Code != http.StatusAccepted {
			t.Fatalf("%s: %d %s", label, w.Code, w.Body)
		}
		if w := f.judge(api.WrongAnswer); w.ID != id {
			t.Fatalf("judged %q", w.ID)
		}
	}
	if view := f.rejudge(`{"id": "named", "jobs": ["labelled-rejudge_of", "labelled-rejudging"]}`); view.Queued != 2 {
		t.Errorf("judge labelled jobs again: %+v", view)
	}
	if view := f.rejudge(`{"id": "found", "filter": {"labels": {"by": "caller"}}}`); view.Queued != 3 {
		t.Errorf("judge jobs of a filter again: %+v", view)
	}
}

// TestJobsOfTheVersionBefore opens a database in which judged's own jobs have the old names.
func TestJobsOfTheVersionBefore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "judged.db")
	before, err := jobs.Open(t.Context(), jobs.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	files, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"), 4<<10)
	if err != nil {
		t.Fatal(err)
	}
	f := &rejudgeFixture{newFixture(t, func(o *Options) { o.Jobs, o.Blobs = before, files }), t, before, files}
	key, rejudged := oldKeyedID("", "mine"), oldID("rejudge", "%q %q", "old", "a")
	audit := oldID("audit", "%q", []string{"a", ""})
	put := func(id, labels string) {
		t.Helper()
		body := small
		if labels != "" {
			body = `{"labels": {` + labels + `}, ` + small[1:]
		}
		if w := f.submit("PUT", "/v1/jobs/"+id, body); w.Code != http.StatusAccepted {
			t.Fatalf("%s: %d %s", id, w.Code, w.Body)
		}
		f.judge(api.WrongAnswer)
	}
	put("a", "")
	put(key, "")
	put(rejudged, `"rejudge_of": "a", "rejudging": "old"`)
	put(audit, `"audit_of": "a"`)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`UPDATE jobs SET priority = 4 WHERE id = '` + audit + `'`,
		`INSERT INTO rejudgings (id, digest, state, created, request)
			SELECT 'old', 'd', 0, created, job FROM jobs WHERE id = 'a'`,
		`INSERT INTO rejudged (id, rejudging, original, old_verdict) VALUES ('` + rejudged + `', 'old', 'a', 'WA')`} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	after, err := jobs.Open(t.Context(), jobs.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = after.Close() })
	f = &rejudgeFixture{newFixture(t, func(o *Options) { o.Jobs, o.Blobs = after, files }), t, after, files}
	w := f.submit("POST", "/v1/jobs", small, "Idempotency-Key: mine")
	if w.Code != http.StatusOK || w.Header().Get("Location") != location(key) {
		t.Errorf("a key of before: %d, location %q, want the job %q", w.Code, w.Header().Get("Location"), key)
	}
	view := f.rejudge(`{"id": "new", "jobs": ["` + rejudged + `", "a"]}`)
	if len(view.Skipped) != 1 || view.Skipped[0].Job != rejudged || view.Queued != 1 {
		t.Errorf("a job that judges another one again: %+v", view)
	}
	if view := f.rejudge(`{"id": "all", "filter": {"created_from": "1970-01-01T00:00:00Z"}}`); view.Queued != 2 { // a, and that of the key
		t.Errorf("a filter for all: %+v", view)
	}
	for _, query := range []string{"audit_of%3Da", "rejudge_of%3Da"} {
		list := answer[jobList](t, f.ask("GET", "/v1/jobs?label="+query, ""))
		if len(list.Jobs) != 1 {
			t.Errorf("%s lists %+v", query, list.Jobs)
		}
	}
	if got := f.ask("GET", "/v1/jobs/"+audit, ""); got.Code != http.StatusOK {
		t.Errorf("an audit of before: %d", got.Code)
	}
}
