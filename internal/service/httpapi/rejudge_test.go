package httpapi

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
	"judged/internal/jobs/intake"
)

// rejudgeFixture has a real store and judged jobs: a and b with a problem, c without; d is queued.
type rejudgeFixture struct {
	*fixture
	t     *testing.T
	store *jobs.Store
	blobs *blobs.Store
}

func newRejudgeFixture(t *testing.T) *rejudgeFixture {
	t.Helper()
	store := openStore(t)
	files, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"), 4<<10)
	if err != nil {
		t.Fatal(err)
	}
	f := &rejudgeFixture{newFixture(t, func(o *Options) { o.Jobs, o.Blobs = store, files }), t, store, files}
	f.problem("v1", "1")
	for _, id := range []string{"a", "b", "c", "d"} {
		body := `{"program": {"text": "program"}, "problem": "sum", "labels": {"team": "` + id + `"}}`
		if id == "c" {
			body = small
		}
		if w := f.submit("PUT", "/v1/jobs/"+id, body); w.Code != 202 {
			t.Fatalf("job %s: %d %s", id, w.Code, w.Body)
		}
	}
	for range 3 {
		f.judge(api.WrongAnswer)
	}
	return f
}

// problem stores a version of the problem of a and b.
func (f *rejudgeFixture) problem(version, answer string) {
	f.t.Helper()
	digest, _, _, err := f.blobs.Put(f.t.Context(), "", strings.NewReader(answer))
	if err != nil {
		f.t.Fatal(err)
	}
	_, _, err = f.store.PutProblem(f.t.Context(), api.Problem{ID: "sum", Version: version,
		Tests:  []api.Test{{Name: version, Input: &api.File{Blob: digest}, Answer: &api.File{Blob: digest}}},
		Limits: api.Limits{CPUTimeMS: 1000}}, jobs.Editor{})
	if err != nil {
		f.t.Fatal(err)
	}
}

// judge judges the most urgent job.
func (f *rejudgeFixture) judge(v api.Verdict) api.Work {
	f.t.Helper()
	w, err := f.store.Take(f.t.Context(), api.Want{CPUs: "2-3"})
	if err == nil {
		err = f.store.Finish(f.t.Context(), w.Lease, api.Report{Verdict: v})
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

// fill does the daemon's background work, as far as there is room in the queue.
func (f *rejudgeFixture) fill(id string) api.Rejudging {
	f.t.Helper()
	filler := intake.NewRejudger(intake.RejudgerOptions{Store: f.store, Blobs: f.blobs,
		Config: func() config.Config { return f.config }, Holder: "test", Log: slog.New(slog.DiscardHandler)})
	for busy := true; busy; {
		var err error
		if busy, err = filler.Step(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
	return f.send("GET", "/v1/rejudgings/"+id, "", 200)
}

// rejudge stores a set and fills it.
func (f *rejudgeFixture) rejudge(body string) api.Rejudging {
	f.t.Helper()
	v := f.send("POST", "/v1/rejudgings", body, 201)
	if v.State != api.RejudgingFilling || v.Jobs != 0 {
		f.t.Fatalf("a new set: %+v", v)
	}
	v = f.fill(v.ID)
	v.Page, v.Next = nil, ""
	return v
}

func (f *rejudgeFixture) send(method, path, body string, status int) api.Rejudging {
	f.t.Helper()
	w := f.submit(method, path, body)
	if w.Code != status {
		f.t.Fatalf("%s %s: %d, want %d: %s", method, path, w.Code, status, w.Body)
	}
	return answer[api.Rejudging](f.t, w)
}

func TestRejudging(t *testing.T) {
	f := newRejudgeFixture(t)
	if _, err := f.store.Cancel(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	f.problem("v2", "2")
	body := `{"id": "r", "reason": "wrong answer", "jobs": ["a", "b", "c", "d", "gone", "a"],
		"limits": {"cpu_time_ms": 3000}, "repeats": {"min": 2, "max": 4}}`
	view := f.rejudge(body)
	want := api.Rejudging{ID: "r", State: api.RejudgingJudging, Reason: "wrong answer", Jobs: 3, Queued: 3, SkippedN: 2,
		Verdicts: []api.RejudgedCount{{Old: api.WrongAnswer, Jobs: 3}},
		Skipped:  []api.SkippedJob{{Job: "d", Reason: "its state is cancelled"}, {Job: "gone", Reason: "no such job"}}}
	if diff := cmp.Diff(want, view, cmpopts.IgnoreFields(want, "CreatedAt")); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	f.send("POST", "/v1/rejudgings", body, 200)
	wantProblem(t, f.submit("POST", "/v1/rejudgings", strings.Replace(body, "3000", "4000", 1)), "conflict")
	if p := wantProblem(t, f.ask("POST", "/v1/rejudgings/r/apply", ""), "final"); p.Detail !=
		`apply rejudging "r": 3 of 3 jobs are not judged yet` {
		t.Errorf("applied too early: %q", p.Detail)
	}

	for range 3 {
		w := f.judge(api.Accepted)
		tests, version := "v2", "v2"
		if w.Job.Labels[jobs.RejudgeLabel] == "c" {
			tests, version = "1", ""
		}
		if w.Job.Priority != api.Rejudge || w.Job.Labels[jobs.RejudgingLabel] != "r" || w.Job.Limits.CPUTimeMS != 3000 ||
			w.Job.Repeats.Min != 2 || len(w.Job.Tests) != 1 || w.Job.Tests[0].Name != tests ||
			w.Job.ProblemVersion != version {
			t.Errorf("job that judges again: %+v", w.Job)
		}
	}
	view = f.send("GET", "/v1/rejudgings/r?changed=true&limit=2", "", 200)
	page := []api.RejudgedReport{
		{Job: "a", Again: jobs.RejudgeID("r", "a"), Old: api.WrongAnswer, New: api.Accepted},
		{Job: "b", Again: jobs.RejudgeID("r", "b"), Old: api.WrongAnswer, New: api.Accepted}}
	if diff := cmp.Diff(page, view.Page); diff != "" || view.Next != "b" || view.State != api.RejudgingReady {
		t.Errorf("state %s, next %q, page (-want +got):\n%s", view.State, view.Next, diff)
	}
	if got := f.send("POST", "/v1/rejudgings/r/apply", "", 200); got.State != api.RejudgingApplied || got.Changed != 3 {
		t.Errorf("applied: %+v", got)
	}
	rep := answer[api.Report](t, f.ask("GET", "/v1/jobs/a", ""))
	if rep.Verdict != api.Accepted || rep.Rejudging == nil || rep.Rejudging.PreviousVerdict != api.WrongAnswer {
		t.Errorf("report of a job that was judged again: %+v", rep)
	}
	wantProblem(t, f.ask("DELETE", "/v1/rejudgings/r", ""), "final")
	list := answer[api.RejudgingList](t, f.ask("GET", "/v1/rejudgings?limit=1", ""))
	if len(list.Rejudgings) != 1 || list.Rejudgings[0].ID != "r" || list.Next != "" {
		t.Errorf("list %+v", list)
	}
	if logged := f.logged.String(); !strings.Contains(logged, `msg="stored a rejudging" rejudging=r`) ||
		!strings.Contains(logged, `msg="applied a rejudging" rejudging=r changed=3`) {
		t.Errorf("log:\n%s", logged)
	}
}

// TestRejudgingFilter checks a filter with a cancelled set, jobs that judge others again, and a job whose program was
// deleted.
func TestRejudgingFilter(t *testing.T) {
	f := newRejudgeFixture(t)
	if _, err := f.store.Cancel(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	view := f.rejudge(`{"id": "r", "filter": {"problem": "sum"}, "same_problem": true}`)
	if view.Jobs != 2 || len(view.Skipped) != 0 {
		t.Errorf("set %+v, want the jobs a and b", view)
	}
	if got := f.send("DELETE", "/v1/rejudgings/r", "", 200); got.State != api.RejudgingCancelled || got.EndedAt.IsZero() {
		t.Errorf("cancelled: %+v", got)
	}
	wantProblem(t, f.ask("POST", "/v1/rejudgings/r/apply", ""), "final")
	view = f.rejudge(`{"id": "again", "jobs": ["a", "` + jobs.RejudgeID("r", "a") + `"]}`)
	if diff := cmp.Diff([]api.SkippedJob{{Job: jobs.RejudgeID("r", "a"),
		Reason: "it judges another job again; name that one"}}, view.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if w := f.judge(api.WrongAnswer); w.Job.Labels[jobs.RejudgingLabel] != "again" {
		t.Fatalf("judged %+v, want a job of the set", w)
	}
	for filter, jobs := range map[string]int{
		`{"labels": {"team": "b"}}`: 1, `{"verdict": "WA"}`: 3, `{"priority": "practice"}`: 3, `{"pool": "default"}`: 3,
		`{"created_from": "1970-01-01T00:00:00Z"}`: 3, `{"labels": {}, "problem": "sum"}`: 2,
	} {
		if got := f.rejudge(`{"filter": ` + filter + `}`); got.Jobs != jobs || got.Queued != jobs ||
			len(got.Skipped) > 0 {
			t.Errorf("filter %s: %d jobs, want %d; skipped %+v", filter, got.Jobs, jobs, got.Skipped)
		}
	}
	if err := f.store.DeleteProblem(t.Context(), "sum", jobs.Editor{Any: true}); err != nil {
		t.Fatal(err)
	}
	path, err := f.blobs.Path(digestText("program"))
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	for body, reason := range map[string]string{
		`{"jobs": ["a"]}`:                       `problem "sum" was deleted; send same_problem`,
		`{"jobs": ["a"], "same_problem": true}`: "the file of program is not stored any more",
		`{"jobs": ["x"]}`:                       "no such job",
	} {
		v := f.rejudge(body)
		if v.State != api.RejudgingFailed || v.Error != "no job that can be judged again; select others" ||
			len(v.Skipped) != 1 || v.Skipped[0].Reason != reason || v.EndedAt.IsZero() {
			t.Errorf("%s: %+v, want it skipped: %s", body, v, reason)
		}
		wantProblem(t, f.ask("POST", "/v1/rejudgings/"+v.ID+"/apply", ""), "final")
		wantProblem(t, f.ask("DELETE", "/v1/rejudgings/"+v.ID, ""), "final")
	}
	if v := f.rejudge(`{"filter": {"labels": {"team": "x"}}}`); v.State != api.RejudgingFailed || v.SkippedN != 0 {
		t.Errorf("a filter that nothing matches: %+v", v)
	}
}

// TestRejudgingFullQueue checks that a set of more jobs than the queue holds is stored, and leaves room for
// contestants.
func TestRejudgingFullQueue(t *testing.T) {
	f := newRejudgeFixture(t)
	f.judge(api.WrongAnswer)
	f.store.SetMaxWaiting(3)
	if v := f.rejudge(`{"id": "r", "filter": {"created_from": "1970-01-01T00:00:00Z"}}`); v.State != api.RejudgingFilling || v.Jobs != 4 || v.Queued != 1 {
		t.Errorf("set %+v, want 1 of 4 jobs queued", v)
	}
	if w := f.submit("PUT", "/v1/jobs/contest", small); w.Code != 202 {
		t.Errorf("a contestant's job: %d %s", w.Code, w.Body)
	}
	for range 5 {
		f.judge(api.Accepted)
		f.fill("r")
	}
	if v := f.fill("r"); v.State != api.RejudgingReady || v.Judged != 4 {
		t.Errorf("set %+v, want it judged", v)
	}
}

func TestRejudgingRefused(t *testing.T) {
	f := newRejudgeFixture(t)
	for name, tt := range map[string]struct{ method, path, body, kind string }{
		"nothing":               {"POST", "", `{}`, "bad-request"},
		"both":                  {"POST", "", `{"jobs": ["a"], "filter": {"verdict": "WA"}}`, "bad-request"},
		"unknown member":        {"POST", "", `{"jobs": ["a"], "repeat": 1}`, "bad-request"},
		"no jobs":               {"POST", "", `{"jobs": []}`, "bad-request"},
		"empty filter":          {"POST", "", `{"filter": {}}`, "bad-request"},
		"no labels":             {"POST", "", `{"filter": {"labels": {}}}`, "bad-request"},
		"key of a label":        {"POST", "", `{"filter": {"labels": {"te am": "7"}}}`, "bad-request"},
		"value of a label":      {"POST", "", `{"filter": {"labels": {"team": "\u0000"}}}`, "bad-request"},
		"empty problem":         {"POST", "", `{"filter": {"problem": "", "verdict": "WA"}}`, "bad-request"},
		"empty pool":            {"POST", "", `{"filter": {"pool": "", "verdict": "WA"}}`, "bad-request"},
		"before this age":       {"POST", "", `{"filter": {"created_to": "1600-01-01T00:00:00Z"}}`, "bad-request"},
		"after this age":        {"POST", "", `{"filter": {"created_from": "2300-01-01T00:00:00Z"}}`, "bad-request"},
		"verdict":               {"POST", "", `{"filter": {"verdict": "XX"}}`, "bad-request"},
		"priority":              {"POST", "", `{"filter": {"priority": "audit"}}`, "bad-request"},
		"pool of the filter":    {"POST", "", `{"filter": {"pool": "\u0000"}}`, "bad-request"},
		"problem of the filter": {"POST", "", `{"filter": {"problem": "\u0000"}}`, "bad-request"},
		"id":                    {"POST", "", `{"id": "-", "jobs": ["a"]}`, "bad-request"},
		"reason": {"POST", "", `{"jobs": ["a"], "reason": "` + strings.Repeat("x", 1001) + `"}`,
			"bad-request"},
		"reason of two lines": {"POST", "", `{"jobs": ["a"], "reason": "a\nb"}`, "bad-request"},
		"no ID":               {"POST", "", `{"jobs": ["x", "\u0000"]}`, "bad-request"},
		"policy": {"POST", "", `{"filter": {"verdict": "AC"}, "repeats": {"policy": "AAA"}}`,
			"invalid-job"},
		"repeats":       {"POST", "", `{"jobs": ["a"], "repeats": {"min": 3, "max": 2}}`, "invalid-job"},
		"limits":        {"POST", "", `{"jobs": ["a"], "limits": {"cpu_time_ms": -1}}`, "invalid-job"},
		"absent":        {"GET", "/absent", "", "not-found"},
		"apply absent":  {"POST", "/absent/apply", "", "not-found"},
		"cancel absent": {"DELETE", "/absent", "", "not-found"},
		"changed":       {"GET", "/absent?changed=x", "", "bad-request"},
		"cursor":        {"GET", "?after=x", "", "bad-request"},
		"limit":         {"GET", "?limit=0", "", "bad-request"},
	} {
		t.Run(name, func(t *testing.T) {
			wantProblem(t, f.submit(tt.method, "/v1/rejudgings"+tt.path, tt.body), tt.kind)
		})
	}
	large := newFixture(t, func(o *Options) { o.Config.HTTP.MaxBody = 1 << 20 })
	many := strings.Repeat(`"a",`, api.MaxRejudged)
	wantProblem(t, large.submit("POST", "/v1/rejudgings", `{"jobs": [`+many+`"a"]}`), "bad-request")
	f.unfit = fmt.Errorf("draining")
	wantProblem(t, f.submit("POST", "/v1/rejudgings", `{"jobs": ["a"]}`), "not-ready")
	if list, _, err := f.store.Rejudgings(t.Context(), "", 10); len(list) != 0 || err != nil {
		t.Errorf("stored %+v, %v", list, err)
	}
	if w, err := f.store.Depth(t.Context()); err != nil || w["default"][api.Rejudge] != 0 {
		t.Errorf("jobs of refused sets wait: %v, %v", w, err)
	}
}

// TestRejudgingKeys checks that a request that is sent again with its Idempotency-Key does not create a second set.
func TestRejudgingKeys(t *testing.T) {
	f := newRejudgeFixture(t)
	const jobs, others = `{"jobs": ["a"], "reason": "r"}`, `{"jobs": ["b"]}`
	created := f.submit("POST", "/v1/rejudgings", jobs, "Idempotency-Key: one")
	again := f.submit("POST", "/v1/rejudgings", jobs, "Idempotency-Key: one")
	first, second := answer[api.Rejudging](t, created), answer[api.Rejudging](t, again)
	if created.Code != 201 || again.Code != 200 || first.ID != second.ID || first.ID == "" {
		t.Errorf("%d %q, again %d %q", created.Code, first.ID, again.Code, second.ID)
	}
	wantProblem(t, f.submit("POST", "/v1/rejudgings", others, "Idempotency-Key: one"), "conflict")
	// No caller can choose the ID, but it names the set in all requests.
	wantProblem(t, f.submit("POST", "/v1/rejudgings", `{"id": "`+first.ID+`", "jobs": ["b"]}`), "bad-request")
	f.fill(first.ID)
	f.judge(api.Accepted) // d, which waits
	if w := f.judge(api.Accepted); w.Job.Labels["@rejudging"] != first.ID {
		t.Errorf("labels %v, want the set %q", w.Job.Labels, first.ID)
	}
	set := strings.ReplaceAll("/v1/rejudgings/"+first.ID, "@", "%40")
	if got := f.send("GET", set, "", 200); got.State != api.RejudgingReady {
		t.Errorf("the set: %+v", got)
	}
	f.send("POST", set+"/apply", "", 200)
	f.send("DELETE", set, "", 409)
	const named = `{"id": "x", "jobs": ["a"]}`
	for range 2 {
		if r := answer[api.Rejudging](t, f.submit("POST", "/v1/rejudgings", named, "Idempotency-Key: two")); r.ID != "x" {
			t.Errorf("with an ID in the body: %q", r.ID)
		}
	}
	wantProblem(t, f.submit("POST", "/v1/rejudgings", jobs, "Idempotency-Key: "), "bad-request")
	if w := f.submit("POST", "/v1/rejudgings", others, "Idempotency-Key: two"); w.Code != 201 {
		t.Errorf("another key: %d %s", w.Code, w.Body)
	}
	list := answer[api.RejudgingList](t, f.ask("GET", "/v1/rejudgings", ""))
	if n := len(list.Rejudgings); n != 3 {
		t.Errorf("%d sets, want 3", n)
	}
	var ids []string // of pages of one set each, whose cursors have the IDs
	for after := ""; len(ids) < 4; {
		list = answer[api.RejudgingList](t, f.ask("GET", "/v1/rejudgings?limit=1&after="+after, ""))
		for _, r := range list.Rejudgings {
			ids = append(ids, r.ID)
		}
		if after = list.Next; after == "" {
			break
		}
	}
	if len(ids) != 3 || ids[2] != first.ID {
		t.Errorf("sets of the pages: %q", ids)
	}
}
