package web

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/slots"
	"judged/internal/service/httpapi"
	"judged/internal/testkit"
	"judged/internal/testkit/browser"
)

// views are the sizes and settings in which every page is opened.
var views = []struct {
	name   string
	width  int
	dark   bool
	script bool
}{
	{"desktop", 1600, false, true}, {"phone", 400, false, true}, {"dark", 1600, true, true},
	{"phone-plain", 400, true, false},
}

// TestPagesInABrowser opens every page on a phone and on a screen, light and dark, with and without a script. It checks
// that nothing is cut off and that the console has no error. go test -artifacts keeps the screenshots.
func TestPagesInABrowser(t *testing.T) {
	f := newFixture(t)
	f.fill()
	tab := browser.Open(t)
	tab.Go(f.server.URL + "/jobs/near")
	tab.Wait(`document.getElementById("token")`)
	shot(t, tab, "signin")
	tab.Eval(`(document.getElementById("token").value = "token of boss", document.querySelector("form.signin button").click(), true)`,
		new(bool))
	tab.Wait(`location.pathname === "/jobs/near" && document.getElementById("why")`)
	for _, v := range views {
		tab.Dark(v.dark)
		tab.Script(v.script)
		tab.Resize(v.width, 900)
		for _, p := range f.pages() {
			tab.Go(f.server.URL + p.path)
			tab.Wait(fmt.Sprintf(`location.pathname + location.search === %q && document.querySelector("footer time")`, p.path))
			nothingCut(t, tab, v.width, v.name+" "+p.path)
			for _, want := range p.want {
				wantText(t, tab, want)
			}
			shot(t, tab, v.name+"-"+p.name)
			if errs := tab.Errors(); len(errs) > 0 {
				t.Errorf("%s %s: the console has %q", v.name, p.path, errs)
			}
		}
	}
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
		{"many", "/jobs/many", nil},
		{"hostile", "/jobs/hostile", []string{"<script>alert(1)</script>"}},
		{"doctor", "/doctor", []string{"turbo-off"}},
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
	f.judge("", finished("many", api.Accepted, many...))
	f.judge("", finished("empty", api.InternalError))
	evil := timedTest("<script>alert(1)</script>\u202eGNP\u0007", api.WrongAnswer, 300)
	evil.Checker = &api.CheckReport{Verdict: api.WrongAnswer, Message: strings.Repeat("<img src=x onerror=alert(1)> ", 400)}
	evil.StderrHead = ptr(strings.Repeat("עברית \x1b[31m", 100))
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
	near.Groups = []api.GroupReport{{Name: "sample", Verdict: api.Accepted, Score: ptr(10.), MaxScore: ptr(10.)}}
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

// shot takes a screenshot if it is kept.
func shot(t *testing.T, tab *browser.Tab, name string) {
	if kept := flag.Lookup("test.artifacts"); kept != nil && kept.Value.String() == "true" {
		tab.Screenshot(filepath.Join(t.ArtifactDir(), name+".png"))
	}
}

// TestPagesAreUsable checks every page by the rules of axe-core, light and dark.
func TestPagesAreUsable(t *testing.T) {
	testkit.Need(t, testkit.Axe)
	path, err := testkit.AxePath()
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *httpapi.Options) { o.Tokens = nil })
	f.fill()
	tab := browser.Open(t)
	tab.Resize(1600, 900)
	for _, dark := range []bool{false, true} {
		tab.Dark(dark)
		for _, p := range append(f.pages(), pageCase{"signin", "/sign-in", nil}) {
			if p.name == "many" {
				continue // the same as job, and a minute of work
			}
			tab.Go(f.server.URL + p.path)
			tab.Wait(fmt.Sprintf(`location.pathname === %q && document.querySelector("footer time")`, p.path))
			tab.Eval("(() => {"+string(axe)+"; return true })()", new(bool))
			var found []string
			tab.Eval(`axe.run().then(r => r.violations.filter(v => ["serious", "critical"].includes(v.impact)).map(v =>
				v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(" ")))`, &found)
			if len(found) > 0 {
				t.Errorf("%s, dark %t: %s", p.path, dark, strings.Join(found, "\n"))
			}
		}
	}
}

// nothingCut checks that the page does not scroll sideways.
func nothingCut(t *testing.T, tab *browser.Tab, width int, name string) {
	t.Helper()
	var wide int
	tab.Eval(`document.scrollingElement.scrollWidth`, &wide)
	if wide > width {
		t.Errorf("%s: %d pixels wide in a window of %d", name, wide, width)
	}
}

func wantText(t *testing.T, tab *browser.Tab, want string) {
	t.Helper()
	var shown string
	tab.Eval(`document.body.innerText`, &shown)
	if !strings.Contains(shown, want) {
		t.Errorf("the page does not show %q:\n%.2000s", want, shown)
	}
}
