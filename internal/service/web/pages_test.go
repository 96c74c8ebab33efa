package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/service/httpapi"
)

// TestRejudging checks the matrix, the jobs behind a cell, and who may apply.
func TestRejudging(t *testing.T) {
	f := newFixture(t)
	f.contest()
	view, err := f.store.Rejudging(t.Context(), "again")
	if err != nil {
		t.Fatal(err)
	}
	p := rejudgingPage{Rejudging: view}
	p.fillMatrix()
	want := []matrixRow{{"AC", []cell{{23, true, "?new=AC&old=AC"}, {0, false, "?new=TLE&old=AC"}}},
		{"TLE", []cell{{12, false, "?new=AC&old=TLE"}, {5, true, "?new=TLE&old=TLE"}}}}
	if diff := cmp.Diff(want, p.Rows); diff != "" {
		t.Errorf("matrix (-want +got):\n%s", diff)
	}
	reader, boss := f.signIn("reader"), f.signIn("boss")
	cell := reader.get("/rejudgings/again?old=TLE&new=AC")
	if n := strings.Count(cell.body, `<tr><th scope="row"><a href="/jobs/c2-`); n != 12 ||
		!strings.Contains(cell.body, `number">1.017 s</td><td data-column="New CPU time" class="number">995.0 ms</td>`) {
		t.Errorf("the cell has %d jobs: %s", n, cell.body)
	}
	if strings.Contains(cell.body, "<button>Apply") {
		t.Error("a reader sees the button")
	}
	if a := reader.post("/rejudgings/again/apply", url.Values{}); a.status != 403 {
		t.Errorf("a reader applies: %d", a.status)
	}
	if a := boss.get("/rejudgings/again"); !strings.Contains(a.body, "<button>Apply: replace 40 reports") {
		t.Errorf("no button: %s", a.body)
	}
	if a := boss.post("/rejudgings/again/apply", url.Values{}); a.status != 303 ||
		a.header.Get("Location") != "/rejudgings/again" {
		t.Errorf("apply: %d %s", a.status, a.body)
	}
	if !strings.Contains(f.log.String(), "applied a rejudging") {
		t.Errorf("log %s", f.log)
	}
	if a := f.signIn("guest").get("/rejudgings/again"); a.status != 404 {
		t.Errorf("a tenant sees it: %d", a.status)
	}
}

// TestPagesOfOperators checks what a tenant does not see.
func TestPagesOfOperators(t *testing.T) {
	f := newFixture(t)
	got := map[string]int{}
	for _, name := range []string{"reader", "guest"} {
		r := f.signIn(name)
		for _, path := range []string{"/slots/2", "/slots/9", "/doctor"} {
			got[name+" "+path] = r.get(path).status
		}
	}
	want := map[string]int{"reader /slots/2": 200, "reader /slots/9": 404, "reader /doctor": 200, "guest /slots/2": 403,
		"guest /slots/9": 403, "guest /doctor": 403}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFairness(t *testing.T) {
	f := newFixture(t)
	f.contest()
	noisy := finished("noisy", api.InternalError, timedTest("1", api.InternalError, -1010, -1020))
	noisy.Fault, noisy.Labels = api.NoiseFault, map[string]string{"contest": "2"}
	f.judge("", noisy)
	filter := jobs.Filter{Label: map[string]string{"contest": "2"}, State: api.Done, Limit: 7} // several pages
	var p fairnessPage
	if err := handlerOf(t, f).readFairness(t.Context(), &p, filter); err != nil {
		t.Fatal(err)
	}
	type counts struct{ Jobs, Timed, Tests, Runs, Repeated, Repeats, Flips, SetAside, Noise, Near, NearJobs int }
	got := counts{p.Jobs, p.Timed, p.Tests, p.Runs, p.Repeated, p.Repeats, len(p.Flips), p.SetAside, p.Noise, len(p.Near),
		p.NearJobs}
	// 12 submissions ran three times, 17 twice, the rest once; each also ran a short test.
	want := counts{41, 40, 81, 40 + 12*3 + 17*2 + 11 + 2, 12 + 17 + 1, 12*2 + 17 + 1, 5, 2, 1, 40, 40}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]hostCount{{"judge-7", "Example CPU", 41, 0}}, p.Hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	if len(p.Aside) != 1 || p.Aside[0].Cause != api.CauseForeign || p.Aside[0].Runs != 2 {
		t.Errorf("set aside %+v", p.Aside)
	}
	if e := p.Doubt.Expected; !p.Known || !(e.Low > 0 && e.Low <= e.Value && e.Value <= e.High && e.High < 10) {
		t.Errorf("doubt %t %+v", p.Known, p.Doubt)
	}

	r := f.signIn("reader")
	for query, want := range map[string]string{"": "Name the label", "?label=contest%3D9": "No judged job has these labels",
		"?label=x": "has no value"} {
		if a := r.get("/fairness" + query); !strings.Contains(a.body, want) {
			t.Errorf("%q lacks %q: %s", query, want, a.body)
		}
	}
	few := finished("few", api.Accepted, timedTest("1", api.Accepted, 990))
	few.Labels = map[string]string{"contest": "3"}
	f.judge("", few)
	if a := r.get("/fairness?label=contest%3D3"); !strings.Contains(a.body, "is not known") {
		t.Errorf("with one run: %s", a.body)
	}
}

// handlerOf returns a handler whose desk has the store of the fixture.
func handlerOf(t *testing.T, f *fixture) *handler {
	t.Helper()
	var desk *httpapi.Desk
	httpapi.New(httpapi.Options{Jobs: f.store, Doors: []httpapi.Door{{Patterns: []string{"/x"},
		Open: func(d *httpapi.Desk) http.Handler { desk = d; return http.NotFoundHandler() }}}})
	return &handler{desk: desk}
}

// TestQueue checks that the page shows how many jobs of each priority wait, and for how long.
func TestQueue(t *testing.T) {
	f := newFixture(t)
	f.judge("", api.Report{ID: "first", State: api.Queued})
	f.judge("tenant-a", api.Report{ID: "second", State: api.Queued})
	f.now = time.Now().Add(5*time.Minute + 30*time.Second)
	submission := jobs.Submission{ID: "later", BodyDigest: "later", Job: api.Job{Priority: api.Background}}
	if _, _, err := f.store.Put(t.Context(), submission); err != nil {
		t.Fatal(err)
	}
	if _, err := f.db.ExecContext(t.Context(), `UPDATE jobs SET created = created - 600000000000 WHERE id = 'first'`); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"reader", "guest"} {
		body := f.signIn(name).get("/").body
		for _, want := range []string{`<p class="figure">3</p>`, "<li>contest 2, the oldest from 15 minutes ago</li>",
			"<li>background 1, the oldest from 5 minutes ago</li>"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not see %q: %s", name, want, body)
			}
		}
		if strings.Contains(body, "practice") {
			t.Errorf("%s sees a priority of which no job waits", name)
		}
	}
}

// TestCopies checks that lists show the number of copies of a job, and the copies themselves only if asked.
func TestCopies(t *testing.T) {
	f := newFixture(t)
	f.contest()
	if _, err := f.store.PutAudit(t.Context(), jobs.Audit{ID: "@audit", Original: "c2-39", Origin: "n"},
		api.Job{}); err != nil {
		t.Fatal(err)
	}
	again := jobs.RejudgeID("again", "c2-39")
	r := f.signIn("reader")
	for _, tt := range []struct {
		path     string
		has, not []string
	}{
		{"/", []string{`href="/jobs/c2-39"`, ">2 copies</a>", ">1 copy</a>"}, []string{again, "@audit"}},
		{"/jobs", []string{`href="/jobs/c2-0"`, `href="/jobs/c2-39#more"`, ">2 copies</a>"}, []string{again, "@audit", " checked"}},
		{"/jobs?state=done&verdict=AC", []string{`href="/jobs/c2-0"`}, []string{"@rejudge"}},
		{"/jobs?copies=1", []string{" checked", "/jobs/@audit", "copies=1", `Audit of <a href="/jobs/c2-39">`,
			`Judges again <a href="/jobs/c2-39">`}, nil},
		{"/jobs?label=%40rejudge_of%3Dc2-39", []string{again, "Copies of the job"}, []string{"@audit"}},
		{"/jobs?label=%40rejudging%3Dagain", []string{"@rejudge"}, []string{"@audit"}},
		{"/jobs/c2-39", []string{`href="/jobs?label=%40rejudge_of%3Dc2-39">Jobs that judge it again: 1</a>`,
			`href="/jobs?label=%40audit_of%3Dc2-39">Audits: 1</a>`}, []string{"other hosts"}},
		{"/jobs/" + again, []string{`Judges again <a href="/jobs/c2-39">`}, []string{"Audits"}},
		{"/problems/sum", []string{"<dd>40</dd>"}, nil},
	} {
		body := r.get(tt.path).body
		for _, text := range tt.has {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %q: %s", tt.path, text, body)
			}
		}
		for _, text := range tt.not {
			if strings.Contains(body, text) {
				t.Errorf("%s has %q", tt.path, text)
			}
		}
	}
}

// TestCompilerOutputOnce checks that a page has the output of the compiler once.
func TestCompilerOutputOnce(t *testing.T) {
	f := newFixture(t)
	r := finished("a", api.CompileError)
	r.Compilation = &api.Compilation{Language: "cpp", Output: "error: no such thing"}
	f.judge("", r)
	body := f.signIn("reader").get("/jobs/a").body
	if n := strings.Count(body, "no such thing"); n != 1 || !strings.Contains(body, "The source was compiled as cpp") {
		t.Errorf("%d times: %s", n, body)
	}
}

// TestRoutine checks which tests of a long report are folded, and that a short report shows all.
func TestRoutine(t *testing.T) {
	noisy, stable := timedTest("noisy", api.Accepted, 400), timedTest("stable", api.Accepted, 400, 401)
	noisy.Timing.Confidence, stable.Timing.Confidence = api.Noisy, api.Stable
	disturbed := timedTest("disturbed", api.Accepted, 400)
	disturbed.Runs[0].Disturbed = []api.Cause{api.CauseSteal}
	aside := timedTest("aside", api.Accepted, -1010, 400)
	aside.Runs[0].Disturbed = nil
	special := []api.TestReport{noisy, stable, disturbed, aside, timedTest("wrong", api.WrongAnswer, 400),
		{Name: "untimed", Verdict: api.Accepted}, {Name: "skipped", Verdict: api.Skipped}}
	view := func(plain int) (shown, folded []string) {
		tests := slices.Clone(special)
		for i := range plain {
			tests = append(tests, timedTest(strconv.Itoa(i), api.Accepted, 400))
		}
		p := viewJob(finished("a", api.WrongAnswer, tests...))
		for _, v := range p.Tests {
			shown = append(shown, v.Name)
		}
		for _, v := range p.Routine {
			folded = append(folded, v.Name)
		}
		return shown, folded
	}
	if shown, folded := view(fewTests - 2); len(shown) != fewTests+5 || len(folded) != 0 {
		t.Errorf("of few tests, %q are folded", folded)
	}
	want := [][]string{{"noisy", "disturbed", "aside", "wrong", "skipped"}, {"stable", "untimed"}}
	for i := range fewTests - 1 {
		want[1] = append(want[1], strconv.Itoa(i))
	}
	shown, folded := view(fewTests - 1)
	if diff := cmp.Diff(want, [][]string{shown, folded}); diff != "" {
		t.Errorf("tests shown and folded (-want +got):\n%s", diff)
	}
}
