package web

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/slots"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

// views are the sizes and settings in which pages are opened.
var views = []struct {
	name   string
	width  int
	dark   bool
	script bool
	usable bool // check them by axe-core
	pages  []string
}{
	{"desktop", 1600, false, true, true, nil},
	{"phone", 400, true, false, false, nil},
	{"dark", 1600, true, true, true, []string{"now", "job", "slot", "rejudging", "signin", "link"}},
}

// TestPagesInABrowser opens every page on a screen, and on a phone without a script, light and dark. It checks that
// nothing is cut off, that the console has no error, and that axe-core finds no serious fault. go test -artifacts keeps
// the screenshots.
func TestPagesInABrowser(t *testing.T) {
	testkit.Need(t, testkit.Chromium, testkit.Axe)
	axe := axeScript(t)
	f := newFixture(t)
	f.fill()
	link, status := f.link("boss", "near")
	if status != 200 {
		t.Fatalf("link: status %d", status)
	}
	all := append(f.pages(), pageCase{"link", link.Path, []string{"Time limit exceeded on test 07", "a judge host"}})
	tab := openTab(t)
	tab.Go(f.server.URL + "/jobs/near")
	signIn(tab, "wrong")
	tab.Wait(`document.querySelector("[role=alert]")`)
	checkUsable(t, tab, axe, "sign in refused")
	shot(t, tab, "refused")
	if errs := tab.Errors(); len(errs) != 1 || !strings.Contains(errs[0], "401") {
		t.Errorf("a wrong token: the console has %q", errs)
	}
	signIn(tab, "token of boss")
	tab.Wait(`location.pathname === "/jobs/near" && document.getElementById("why")`)
	for _, v := range views {
		tab.Dark(v.dark)
		tab.Script(v.script)
		tab.Resize(v.width, 900)
		for _, p := range all {
			if v.pages != nil && !slices.Contains(v.pages, p.name) {
				continue
			}
			name := v.name + " " + p.path
			tab.Go(f.server.URL + p.path)
			tab.Wait(fmt.Sprintf(`location.pathname + location.search === %q && document.querySelector("footer time")`,
				p.path))
			nothingCut(t, tab, v.width, name)
			for _, want := range p.want {
				wantText(t, tab, want)
			}
			if v.width < 500 {
				wideCells(t, tab, name)
			}
			if v.width < 500 && p.name == "jobs" {
				shortRows(t, tab, name)
			}
			shot(t, tab, v.name+"-"+p.name)
			if errs := tab.Errors(); len(errs) > 0 {
				t.Errorf("%s: the console has %q", name, errs)
			}
			if v.usable && p.name != "many" { // the same as job, and a minute of work
				checkUsable(t, tab, axe, name)
			}
		}
	}
}

// axeScript returns the source of axe-core.
func axeScript(t *testing.T) []byte {
	t.Helper()
	path, err := testkit.AxePath()
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return axe
}

// signIn sends a token by the form that the tab shows, or will show.
func signIn(tab *tab, token string) {
	tab.Wait(`document.getElementById("token")`)
	tab.Eval(fmt.Sprintf(`(document.getElementById("token").value = %q,
		document.querySelector("form.signin button").click(), true)`, token), new(bool))
}

type pageCase struct {
	name, path string
	want       []string
}

func (f *fixture) pages() []pageCase {
	return []pageCase{
		{"now", "/", []string{"Verdicts near a time limit are not safe", "turbo-off", "quarantined"}},
		{"jobs", "/jobs", []string{"near", "Older jobs"}},
		{"job", "/jobs/near", []string{"Time limit exceeded on test 07", "set aside"}},
		{"empty", "/jobs/empty", nil},
		{"many", "/jobs/many", []string{"secret/007", "499 more tests: accepted"}},
		{"hostile", "/jobs/hostile", []string{"<script>alert(1)</script>"}},
		{"doctor", "/doctor", []string{"turbo-off"}},
		{"slot", "/slots/40-41", []string{"alu: shifted, slower", "canary alu is 7.1 % slower"}},
		{"problems", "/problems", []string{"sum"}},
		{"problem", "/problems/sum", []string{"In the band", "cpp"}},
		{"rejudgings", "/rejudgings", []string{"again"}},
		{"rejudging", "/rejudgings/again?old=TLE&new=AC", []string{"Old verdicts by new ones", "TLE, now AC"}},
		{"signin", "/sign-in", []string{"Token with the scope read"}},
		{"fairness", "/fairness?label=contest%3D2", []string{"is wrong by time with a probability of",
			"One run alone would have decided otherwise"}},
	}
}

// fill stores jobs of all kinds, and makes the host unfit.
func (f *fixture) fill() {
	for i := range 60 {
		f.judge("", finished(fmt.Sprintf("job-%d", i), api.Accepted, timedTest("1", api.Accepted, 100+i)))
	}
	var many []api.TestReport
	for i := range 500 {
		many = append(many, timedTest(fmt.Sprintf("secret/%03d", i), api.Accepted, 400+i))
	}
	many[7] = timedTest("secret/007", api.WrongAnswer, 407)
	f.judge("", finished("many", api.WrongAnswer, many...))
	f.contest()
	f.judge("", finished("empty", api.InternalError))
	evil := timedTest("<script>alert(1)</script>\u202eGNP\u0007", api.WrongAnswer, 300)
	evil.Checker = &api.CheckReport{Verdict: api.WrongAnswer, Message: strings.Repeat("<img src=x onerror=alert(1)> ", 400)}
	evil.StderrHead = new(strings.Repeat("עברית \x1b[31m", 100))
	long := timedTest(strings.Repeat("x", 1<<20), api.Skipped)
	long.Timing = nil
	hostile := finished("hostile", api.WrongAnswer, evil, long)
	hostile.Labels = map[string]string{"team": `"><script>alert(2)</script>`, "\u202eright": strings.Repeat("ש", 60)}
	hostile.Compilation = &api.Compilation{Language: "cpp", Output: strings.Repeat("warning: <b>x</b>\n", 40)}
	f.judge("", hostile)
	near := finished("near", api.TimeLimit, timedTest("06", api.Accepted, 412),
		timedTest("07", api.TimeLimit, -1009, 1012, 998, 1015), api.TestReport{Name: "08", Verdict: api.Skipped})
	near.Tests[1].Timing.DecidedBy, near.Tests[1].Timing.Confidence = api.ByClear, api.Stable
	near.Labels = map[string]string{"contest": "1", "team": "7"}
	near.Groups = []api.GroupReport{{Name: "sample", Verdict: api.Accepted, Score: new(10.), MaxScore: new(10.)}}
	f.judge("", near)
	f.judge("", api.Report{ID: "now-running", State: api.Running})
	f.judge("", api.Report{ID: "waiting", State: api.Queued})
	f.doctor.Ready = false
	f.doctor.Checks = append([]api.DoctorCheck{{ID: "sched-isolated", Title: "isolated from the scheduler",
		Severity: api.SeverityS1, Status: api.DoctorFail, Found: "isolcpus=" + strings.Repeat("11,13,15-19,", 20),
		Wanted: "isolcpus=domain", Reason: "the scheduler moves tasks there",
		Fix: api.DoctorFix{Runtime: []string{"echo isolated > /sys/fs/cgroup/judged/cpuset.cpus.partition"}}}},
		f.doctor.Checks...)
	f.doctor.Checks[1].Status = api.DoctorFail
	if err := f.pool.Hold(cpuset.New(40, 41), slots.Hold{Cause: api.HoldQuarantine,
		Reason: "canary alu is 7.1 % slower than its baseline"}); err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.pool.Lease(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// contest stores a problem with submissions of a contest, some of them near the limit, and a rejudging of them.
func (f *fixture) contest() {
	ctx := f.t.Context()
	if _, _, err := f.store.PutProblem(ctx, api.Problem{ID: "sum", Version: strings.Repeat("0a", 32), Name: "Sum <i>of</i>",
		Tests: []api.Test{{Name: "1"}, {Name: "2"}}}, jobs.Editor{}); err != nil {
		f.t.Fatal(err)
	}
	var ids []string
	for i := range 40 {
		at := 900 + 5*i
		verdict, times := api.Accepted, []int{at}
		switch {
		case at > 1010:
			verdict, times = api.TimeLimit, []int{at, at + i%7}
		case at > 950:
			times = []int{at + 12, at - i%5, at + i%4}
		}
		r := finished(fmt.Sprintf("c2-%d", i), verdict, timedTest("1", api.Accepted, 300), timedTest("2", verdict, times...))
		r.Labels = map[string]string{"contest": "2"}
		r.Problem = &api.ProblemVersion{ID: "sum", Version: strings.Repeat("0a", 32)}
		r.Compilation = &api.Compilation{Language: []string{"cpp", "python"}[i%2]}
		f.judge("", r)
		ids = append(ids, r.ID)
	}
	f.rejudge("again", ids)
}

// shot takes a screenshot if it is kept.
func shot(t *testing.T, tab *tab, name string) {
	if kept := flag.Lookup("test.artifacts"); kept != nil && kept.Value.String() == "true" {
		tab.Screenshot(filepath.Join(t.ArtifactDir(), name+".png"))
	}
}

// checkUsable checks a page by the rules of axe-core.
func checkUsable(t *testing.T, tab *tab, axe []byte, name string) {
	t.Helper()
	tab.Eval("(() => {"+string(axe)+"; return true })()", new(bool))
	var found []string
	tab.Eval(`axe.run().then(r => r.violations.filter(v => ["serious", "critical"].includes(v.impact)).map(v =>
		v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(" ")))`, &found)
	if len(found) > 0 {
		t.Errorf("%s: %s", name, strings.Join(found, "\n"))
	}
}

// nothingCut checks that the page does not scroll sideways.
func nothingCut(t *testing.T, tab *tab, width int, name string) {
	t.Helper()
	var wide int
	tab.Eval(`document.scrollingElement.scrollWidth`, &wide)
	if wide > width {
		t.Errorf("%s: %d pixels wide in a window of %d", name, wide, width)
	}
}

// wideCells checks that pictures of runs and long texts are as wide as their row.
func wideCells(t *testing.T, tab *tab, name string) {
	t.Helper()
	var narrow int
	tab.Eval(`[...document.querySelectorAll(".stack td.runs, .stack td.wide")].filter(cell => cell.checkVisibility() &&
		cell.offsetWidth < cell.parentElement.clientWidth - 1).length`, &narrow)
	if narrow > 0 {
		t.Errorf("%s: %d cells are narrower than their row", name, narrow)
	}
}

// shortRows checks that a job takes at most three lines of the list.
func shortRows(t *testing.T, tab *tab, name string) {
	t.Helper()
	var lines float64
	tab.Eval(`Math.max(...[...document.querySelectorAll("tbody tr")].map(row =>
		row.offsetHeight / parseFloat(getComputedStyle(row).lineHeight)))`, &lines)
	if !(lines >= 1 && lines <= 3) {
		t.Errorf("%s: a job takes %.1f lines", name, lines)
	}
}

func wantText(t *testing.T, tab *tab, want string) {
	t.Helper()
	var shown string
	tab.Eval(`document.body.innerText`, &shown)
	if !strings.Contains(shown, want) {
		t.Errorf("the page does not show %q:\n%.2000s", want, shown)
	}
}

// rejudge judges jobs again, with more time.
func (f *fixture) rejudge(id string, ids []string) {
	f.t.Helper()
	ctx := f.t.Context()
	must := func(err error) {
		f.t.Helper()
		if err != nil {
			f.t.Fatal(err)
		}
	}
	_, err := f.store.PutRejudging(ctx, api.RejudgingRequest{ID: id, Reason: "the limit was <too> low", Jobs: ids}, "digest")
	must(err)
	open, err := f.store.UnfinishedRejudgings(ctx, 1)
	must(err)
	var selected []jobs.SelectedJob
	problem := ""
	for _, original := range ids {
		record, err := f.store.Get(ctx, original)
		must(err)
		selected = append(selected, jobs.SelectedJob{ID: original, Verdict: record.Report.Verdict})
		problem = record.Job.Problem
	}
	must(f.store.SelectRejudged(ctx, open[0], selected, jobs.RejudgingProgress{Selected: true}))
	for i, one := range selected {
		must(f.store.QueueRejudged(ctx, id, one, jobs.Submission{Job: api.Job{Priority: api.Rejudge, Problem: problem,
			Labels: map[string]string{jobs.RejudgeLabel: one.ID, jobs.RejudgingLabel: id}}}))
		w, err := f.store.Take(ctx, api.Want{Host: "host:/data", CPUs: "2"})
		must(err)
		verdict := api.Accepted
		if i > 34 {
			verdict = api.TimeLimit
		}
		must(f.store.Finish(ctx, w.Lease, finished(w.ID, verdict, timedTest("2", verdict, 880+5*i))))
	}
	open, err = f.store.UnfinishedRejudgings(ctx, 1)
	must(err)
	must(f.store.EndFilling(ctx, open[0], ""))
}
