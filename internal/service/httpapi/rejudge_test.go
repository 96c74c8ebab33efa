package httpapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/base/job"
	"judged/internal/jobs"
	"judged/internal/jobs/blobs"
)

// rejudgeFixture has a real store, and judged jobs: a and b with a problem, c without; d waits.
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
		f.judge(job.WrongAnswer)
	}
	return f
}

// problem stores a version of the problem of a and b.
func (f *rejudgeFixture) problem(version, answer string) {
	f.t.Helper()
	digest, err := f.keep(f.t.Context(), []byte(answer))
	if err != nil {
		f.t.Fatal(err)
	}
	_, _, err = f.store.PutProblem(f.t.Context(), jobs.Problem{ID: "sum", Version: version,
		Tests:  []job.Test{{Name: version, Input: &job.File{Blob: digest}, Answer: &job.File{Blob: digest}}},
		Limits: job.Limits{CPUTimeMS: 1000}}, jobs.Editor{})
	if err != nil {
		f.t.Fatal(err)
	}
}

// judge judges the most urgent job.
func (f *rejudgeFixture) judge(v job.Verdict) jobs.Work {
	f.t.Helper()
	w, err := f.store.Take(f.t.Context(), jobs.Want{CPUs: "2-3"})
	if err == nil {
		err = f.store.Finish(f.t.Context(), w.Lease, job.Report{Verdict: v})
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

func (f *rejudgeFixture) send(method, path, body string, status int) jobs.Rejudging {
	f.t.Helper()
	w := f.submit(method, path, body)
	if w.Code != status {
		f.t.Fatalf("%s %s: %d, want %d: %s", method, path, w.Code, status, w.Body)
	}
	return answer[jobs.Rejudging](f.t, w)
}

func TestRejudging(t *testing.T) {
	f := newRejudgeFixture(t)
	if _, err := f.store.Cancel(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	f.problem("v2", "2")
	body := `{"id": "r", "reason": "wrong answer", "jobs": ["a", "b", "c", "d", "gone", "a"],
		"limits": {"cpu_time_ms": 3000}, "repeats": {"min": 2, "max": 4}}`
	view := f.send("POST", "/v1/rejudgings", body, 201)
	want := jobs.Rejudging{ID: "r", State: jobs.RejudgingJudging, Reason: "wrong answer", Jobs: 3,
		Verdicts: []jobs.RejudgedCount{{Old: job.WrongAnswer, Jobs: 3}},
		Skipped:  []jobs.SkippedJob{{Job: "d", Reason: "its state is cancelled"}, {Job: "gone", Reason: "no such job"}}}
	if diff := cmp.Diff(want, view, cmpopts.IgnoreFields(want, "CreatedAt")); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	f.send("POST", "/v1/rejudgings", body, 200)
	wantProblem(t, f.submit("POST", "/v1/rejudgings", strings.Replace(body, "3000", "4000", 1)), "conflict")
	wantProblem(t, f.ask("POST", "/v1/rejudgings/r/apply", ""), "final")

	for range 3 {
		w := f.judge(job.Accepted)
		tests, version := "v2", "v2"
		if w.Job.Labels[jobs.RejudgeLabel] == "c" {
			tests, version = "1", ""
		}
		if w.Job.Priority != job.Rejudge || w.Job.Labels[jobs.RejudgingLabel] != "r" || w.Job.Limits.CPUTimeMS != 3000 ||
			w.Job.Repeats.Min != 2 || len(w.Job.Tests) != 1 || w.Job.Tests[0].Name != tests ||
			w.Job.ProblemVersion != version {
			t.Errorf("job that judges again: %+v", w.Job)
		}
	}
	view = f.send("GET", "/v1/rejudgings/r?changed=true&limit=2", "", 200)
	page := []jobs.RejudgedReport{
		{Job: "a", Again: jobs.RejudgeID("r", "a"), Old: job.WrongAnswer, New: job.Accepted},
		{Job: "b", Again: jobs.RejudgeID("r", "b"), Old: job.WrongAnswer, New: job.Accepted}}
	if diff := cmp.Diff(page, view.Page); diff != "" || view.Next != "b" || view.State != jobs.RejudgingReady {
		t.Errorf("state %s, next %q, page (-want +got):\n%s", view.State, view.Next, diff)
	}
	if got := f.send("POST", "/v1/rejudgings/r/apply", "", 200); got.State != jobs.RejudgingApplied || got.Changed != 3 {
		t.Errorf("applied: %+v", got)
	}
	rep := answer[job.Report](t, f.ask("GET", "/v1/jobs/a", ""))
	if rep.Verdict != job.Accepted || rep.Rejudging == nil || rep.Rejudging.PreviousVerdict != job.WrongAnswer {
		t.Errorf("report of a job that was judged again: %+v", rep)
	}
	wantProblem(t, f.ask("DELETE", "/v1/rejudgings/r", ""), "final")
	list := answer[jobs.RejudgingList](t, f.ask("GET", "/v1/rejudgings?limit=1", ""))
	if len(list.Rejudgings) != 1 || list.Rejudgings[0].ID != "r" || list.Next != "" {
		t.Errorf("list %+v", list)
	}
	if logged := f.logged.String(); !strings.Contains(logged, `msg="rejudging jobs" rejudging=r jobs=3 skipped=2`) ||
		!strings.Contains(logged, `msg="applied a rejudging" rejudging=r changed=3`) {
		t.Errorf("log:\n%s", logged)
	}
}

// TestRejudgingFilter has a cancelled set, jobs that judge others again, and one whose program was deleted.
func TestRejudgingFilter(t *testing.T) {
	f := newRejudgeFixture(t)
	if _, err := f.store.Cancel(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	view := f.send("POST", "/v1/rejudgings", `{"id": "r", "filter": {"problem": "sum"}, "same_problem": true}`, 201)
	if view.Jobs != 2 || len(view.Skipped) != 0 {
		t.Errorf("set %+v, want the jobs a and b", view)
	}
	if got := f.send("DELETE", "/v1/rejudgings/r", "", 200); got.State != jobs.RejudgingCancelled || got.EndedAt.IsZero() {
		t.Errorf("cancelled: %+v", got)
	}
	wantProblem(t, f.ask("POST", "/v1/rejudgings/r/apply", ""), "final")
	view = f.send("POST", "/v1/rejudgings", `{"id": "again", "jobs": ["a", "`+jobs.RejudgeID("r", "a")+`"]}`, 201)
	if diff := cmp.Diff([]jobs.SkippedJob{{Job: jobs.RejudgeID("r", "a"),
		Reason: "it judges another job again; name that one"}}, view.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if w := f.judge(job.WrongAnswer); w.Job.Labels[jobs.RejudgingLabel] != "again" {
		t.Fatalf("judged %+v, want a job of the set", w)
	}
	for filter, jobs := range map[string]int{
		`{"labels": {"team": "b"}}`: 1, `{"verdict": "WA"}`: 3, `{"priority": "practice"}`: 3, `{"pool": "default"}`: 3,
		`{"created_from": "2020-01-01T00:00:00Z"}`: 3, `{}`: 3, `{"problem": "sum"}`: 2,
	} {
		if got := f.send("POST", "/v1/rejudgings", `{"filter": `+filter+`}`, 201); got.Jobs != jobs ||
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
	p := wantProblem(t, f.submit("POST", "/v1/rejudgings", `{"jobs": ["a"]}`), "nothing-to-rejudge")
	if len(p.Errors) != 1 || p.Errors[0].Detail != `problem "sum" was deleted; send same_problem` {
		t.Errorf("errors %+v", p.Errors)
	}
	p = wantProblem(t, f.submit("POST", "/v1/rejudgings", `{"jobs": ["a"], "same_problem": true}`), "nothing-to-rejudge")
	if len(p.Errors) != 1 || p.Errors[0].Detail != "the file of program is not stored any more" {
		t.Errorf("errors %+v", p.Errors)
	}
}

// TestRejudgingPages selects more jobs than a page of the list has.
func TestRejudgingPages(t *testing.T) {
	f := newRejudgeFixture(t)
	for i := range pageMost + 1 {
		n := jobs.Submission{ID: fmt.Sprintf("j%d", i), BodyDigest: "x", Job: job.Job{Command: []string{"true"}, CPUs: 1,
			Tests: []job.Test{{Name: "1"}}, Limits: job.Limits{CPUTimeMS: 1000}, Priority: job.Contest}}
		if _, _, err := f.store.Put(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		f.judge(job.Accepted)
	}
	if got := f.send("POST", "/v1/rejudgings", `{"filter": {"priority": "contest"}}`, 201); got.Jobs != pageMost+1 {
		t.Errorf("%d jobs of %d, skipped %+v", got.Jobs, pageMost+1, got.Skipped)
	}
}

func TestRejudgingRefused(t *testing.T) {
	f := newRejudgeFixture(t)
	for name, tt := range map[string]struct{ method, path, body, kind string }{
		"nothing":                {"POST", "", `{}`, "bad-request"},
		"both":                   {"POST", "", `{"jobs": ["a"], "filter": {"verdict": "WA"}}`, "bad-request"},
		"unknown member":         {"POST", "", `{"jobs": ["a"], "repeat": 1}`, "bad-request"},
		"no jobs":                {"POST", "", `{"jobs": []}`, "bad-request"},
		"verdict":                {"POST", "", `{"filter": {"verdict": "XX"}}`, "bad-request"},
		"priority":               {"POST", "", `{"filter": {"priority": "audit"}}`, "bad-request"},
		"pool of the filter":     {"POST", "", `{"filter": {"pool": "\u0000"}}`, "bad-request"},
		"problem of the filter":  {"POST", "", `{"filter": {"problem": "\u0000"}}`, "bad-request"},
		"id":                     {"POST", "", `{"id": "-", "jobs": ["a"]}`, "bad-request"},
		"reason":                 {"POST", "", `{"jobs": ["a"], "reason": "` + strings.Repeat("x", 1001) + `"}`, "bad-request"},
		"jobs that do not exist": {"POST", "", `{"jobs": ["x", "\u0000"]}`, "nothing-to-rejudge"},
		"limits":                 {"POST", "", `{"jobs": ["a"], "limits": {"cpu_time_ms": -1}}`, "nothing-to-rejudge"},
		"no jobs of the filter":  {"POST", "", `{"filter": {"labels": {"team": "x"}}}`, "nothing-to-rejudge"},
		"absent":                 {"GET", "/absent", "", "not-found"},
		"apply absent":           {"POST", "/absent/apply", "", "not-found"},
		"cancel absent":          {"DELETE", "/absent", "", "not-found"},
		"changed":                {"GET", "/absent?changed=x", "", "bad-request"},
		"cursor":                 {"GET", "?after=x", "", "bad-request"},
		"limit":                  {"GET", "?limit=0", "", "bad-request"},
	} {
		t.Run(name, func(t *testing.T) { wantProblem(t, f.submit(tt.method, "/v1/rejudgings"+tt.path, tt.body), tt.kind) })
	}
	f.most = 1
	wantProblem(t, f.submit("POST", "/v1/rejudgings", `{"filter": {"problem": "sum"}}`), "too-large")
	wantProblem(t, f.submit("POST", "/v1/rejudgings", `{"jobs": ["a", "b"]}`), "bad-request")
	f.unfit = fmt.Errorf("draining")
	wantProblem(t, f.submit("POST", "/v1/rejudgings", `{"jobs": ["a"]}`), "not-ready")
	if list, _, err := f.store.Rejudgings(t.Context(), "", 10); len(list) != 0 || err != nil {
		t.Errorf("stored %+v, %v", list, err)
	}
	if w, err := f.store.Depth(t.Context()); err != nil || w["default"][job.Rejudge] != 0 {
		t.Errorf("jobs of refused sets wait: %v, %v", w, err)
	}
}
