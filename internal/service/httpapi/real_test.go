package httpapi

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// The types that a daemon passes to New.
var (
	_ Jobs  = (*jobs.Store)(nil)
	_ Blobs = (*blobs.Store)(nil)
)

func openStore(t testing.TB) *jobs.Store {
	t.Helper()
	s, err := jobs.Open(t.Context(), jobs.Options{File: filepath.Join(t.TempDir(), "judged.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestLifeOfAJob checks one job with the real store and blobs; the test acts as the judge.
func TestLifeOfAJob(t *testing.T) {
	store := openStore(t)
	files, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"), 4<<10)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *Options) { o.Jobs, o.Blobs = store, files })

	for i, want := range []int{202, 200} {
		if w := f.submit("PUT", "/v1/jobs/a.1", small); w.Code != want {
			t.Fatalf("submission %d: status %d %s", i, w.Code, w.Body)
		}
	}
	wantProblem(t, f.submit("PUT", "/v1/jobs/a.1", strings.Replace(small, `"1"`, `"2"`, 1)), "conflict")
	wantProblem(t, f.submit("PUT", "/v1/jobs/b", strings.Replace(small, "sh", strings.Repeat("x", 5<<10), 1)),
		"too-large")
	wantProblem(t, f.ask("PUT", "/v1/blobs/"+digestText("x"), "y"), "digest")
	wantProblem(t, f.ask("GET", "/v1/jobs?after=x", ""), "bad-request")
	if w := f.ask("GET", "/v1/queue", ""); answer[queueDepth](t, w).Total != 1 {
		t.Errorf("queue %s", w.Body)
	}

	judged := make(chan error, 1)
	go func() { judged <- playJudge(context.WithoutCancel(t.Context()), store) }()
	w := f.ask("GET", "/v1/jobs/a.1?wait=60s", "")
	if err := <-judged; err != nil {
		t.Fatal(err)
	}
	got := answer[api.Report](t, w)
	if got.State != api.Done || got.Verdict != api.Accepted || got.JudgementType != "AC" ||
		w.Header().Get("ETag") == "" {
		t.Errorf("report %s", w.Body)
	}
	wantProblem(t, f.ask("DELETE", "/v1/jobs/a.1", ""), "final")

	w = f.ask("GET", "/v1/jobs/a.1/events", "")
	var types []string
	for line := range strings.Lines(w.Body.String()) {
		if kind, ok := strings.CutPrefix(line, "event: "); ok {
			types = append(types, strings.TrimSpace(kind))
		}
	}
	if diff := cmp.Diff([]string{"queued", "running", "done"}, types); diff != "" {
		t.Errorf("events (-want +got):\n%s\n%s", diff, w.Body)
	}

	if w := f.submit("PUT", "/v1/jobs/c", small); w.Code != 202 {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	if w := f.ask("DELETE", "/v1/jobs/c", ""); w.Code != 200 || answer[api.Report](t, w).Verdict != api.Cancelled {
		t.Errorf("cancel: %d %s", w.Code, w.Body)
	}
	page := answer[jobList](t, f.ask("GET", "/v1/jobs?limit=1", ""))
	if len(page.Jobs) != 1 || page.Next == "" {
		t.Fatalf("first page %+v", page)
	}
	rest := answer[jobList](t, f.ask("GET", "/v1/jobs?after="+page.Next, ""))
	if len(rest.Jobs) != 1 || rest.Jobs[0].ID == page.Jobs[0].ID || rest.Next != "" {
		t.Errorf("pages %+v, %+v", page, rest)
	}

	go func() { judged <- playJudge(context.WithoutCancel(t.Context()), store) }()
	waited := f.submit("PUT", "/v1/jobs/waited?wait=60s", small)
	if err := <-judged; err != nil {
		t.Fatal(err)
	}
	w = f.ask("GET", "/v1/jobs/waited", "")
	if waited.Code != 200 || waited.Header().Get("ETag") != w.Header().Get("ETag") {
		t.Errorf("waited for (-want +got):\n%s", cmp.Diff(w.Body.String(), waited.Body.String()))
	}
}

func playJudge(ctx context.Context, store *jobs.Store) error {
	w, err := store.Take(ctx, api.Want{CPUs: "2-3"})
	if err != nil {
		return err
	}
	return store.Finish(ctx, w.Lease, api.Report{Verdict: api.Accepted})
}

func BenchmarkSubmit(b *testing.B) {
	store := openStore(b)
	f := newFixture(b, func(o *Options) { o.Jobs, o.Log = store, nil })
	for b.Loop() {
		if w := f.submit("POST", "/v1/jobs", small); w.Code != 202 {
			b.Fatal(w.Body)
		}
	}
}
