package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/fleet/front"
	"judged/internal/jobs"
	"judged/internal/testkit/browser"
)

// TestPageInABrowser opens the page with a token, on a phone and on a screen. It checks that nothing is cut off, that
// jobs are links, and that requests have the token where they need one. go test -artifacts keeps the screenshots.
func TestPageInABrowser(t *testing.T) {
	tab := browser.Open(t)
	const token = "a token of the test"
	sum := sha256.Sum256([]byte(token))
	tokens, err := ParseTokens(strings.NewReader("people read,metrics " + hex.EncodeToString(sum[:]) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *Options) {
		o.Tokens = tokens
		o.Doctor = func(context.Context) (api.DoctorReport, error) { return longReport(), nil }
	})
	f.jobs.records[longID] = jobs.Record{ID: longID, Report: longJob()}
	s := httptest.NewServer(f.Server)
	t.Cleanup(s.Close)

	tab.Go(s.URL + "/")
	tab.Wait(`document.querySelector("form.shown")`)
	tab.Eval(
		fmt.Sprintf(
			`(() => { document.getElementById("token").value = %q; document.querySelector("form button").click(); return true })()`,
			token,
		),
		new(bool),
	)
	tab.Wait(`document.querySelector("#doctor td:nth-child(5)") && !document.querySelector("form.shown")`)

	for _, width := range []int{400, 800, 1280} {
		tab.Resize(width, 900)
		shot := func(name string) {
			nothingCut(t, tab, width, name)
			tab.Screenshot(filepath.Join(t.ArtifactDir(), fmt.Sprintf("%s-%d.png", name, width)))
		}
		tab.Eval(`(location.hash = "", true)`, new(bool))
		tab.Wait(`document.querySelector("#jobs a") && !document.getElementById("view-home").hidden`)
		for _, want := range []string{"v1.2.3 on judge-7", "sched-isolated", "the end of what is wanted"} {
			wantText(t, tab, want)
		}
		allShown(t, tab, width, "#doctor td, #jobs td, #slots td")
		shot("home")

		tab.Eval(`(document.querySelector("#jobs a").click(), true)`, new(bool))
		tab.Wait(`document.querySelectorAll("#tests tr").length === 3 && !document.getElementById("view-job").hidden`)
		for _, want := range []string{longID, "1 of 3 kept, noisy", "-5.0 %", "foreign, tick", "<b>no markup</b>",
			"run 1: 1.050 s CPU time (noise: up to 70.0 ms), 2.100 s wall time (up to 90.0 ms), run 2:"} {
			wantText(t, tab, want)
		}
		allShown(t, tab, width, "#job td, #tests td")
		shot("job")

		tab.Eval(`(document.querySelector('nav a[href="#metrics"]').click(), true)`, new(bool))
		tab.Wait(
			`document.getElementById("metrics").textContent.includes("judged_up 1") && !document.getElementById("view-metrics").hidden`,
		)
		shot("metrics")
	}
}

// fleetNodes provides the nodes of a front.
type fleetNodes struct{ *front.Registry }

func (fleetNodes) Nodes(context.Context) ([]api.Node, error) {
	return []api.Node{
		{Name: "judge-1", Pool: "default", Up: true, Ready: true, Slots: []api.NodeSlot{{CPUs: "2", State: "busy"}},
			Deviation: &api.Deviation{Ratio: 0.031, Low: 0.028, High: 0.034, Deviates: true}},
		{Name: "judge-2", Pool: "default", Up: true, Reason: "turbo is on"},
	}, nil
}

func (fleetNodes) Pools(context.Context, jobs.Depths) ([]api.Pool, error) {
	return []api.Pool{
		{Name: "cloud", Waiting: 7, Screen: &api.Screen{DecidedBy: "default", Reason: "job x was refuted"}},
		{Name: "default", Nodes: 2, Judging: 1, Slots: 3},
	}, nil
}

func (fleetNodes) OpenScreen(context.Context, string) error { return front.ErrUnknownPool }

// TestPageOfAFront checks that the page shows pools and nodes, and nothing that a front does not have.
func TestPageOfAFront(t *testing.T) {
	tab := browser.Open(t)
	f := newFixture(t, func(o *Options) {
		o.Slots, o.Work, o.Nodes = nil, struct{ Work }{}, fleetNodes{}
	})
	s := httptest.NewServer(f.Server)
	t.Cleanup(s.Close)
	tab.Go(s.URL + "/")
	tab.Wait(`document.querySelectorAll("#nodes tr").length === 2 && document.getElementById("part-slots").hidden`)
	for _, want := range []string{"judge-1", "2 busy", "3.1 % (2.8 % to 3.4 %)", "not ready", "turbo is on", "0 of 0",
		"closed, else default", "job x was refuted", "1 of 2"} {
		wantText(t, tab, want)
	}
	tab.Wait(`document.getElementById("part-doctor").hidden && document.getElementById("notice").textContent === ""`)
}

// nothingCut checks that the page itself does not scroll sideways; a table may, in its own container.
func nothingCut(t *testing.T, tab *browser.Tab, width int, name string) {
	t.Helper()
	var wide, inner int
	tab.Eval(`document.scrollingElement.scrollWidth`, &wide)
	tab.Eval(`innerWidth`, &inner)
	if inner != width || wide > inner {
		t.Errorf("%s: %d pixels wide in a window of %d, want at most %d", name, wide, inner, width)
	}
}

// allShown checks that no cell extends beyond the window.
func allShown(t *testing.T, tab *browser.Tab, width int, cells string) {
	t.Helper()
	var cut []string
	tab.Eval(
		fmt.Sprintf(
			`[...document.querySelectorAll(%q)].filter(td => td.getBoundingClientRect().right > innerWidth).map(td => td.textContent)`,
			cells,
		),
		&cut,
	)
	if len(cut) > 0 {
		t.Errorf("at %d pixels these cells are cut: %q", width, cut)
	}
}

func wantText(t *testing.T, tab *browser.Tab, want string) {
	t.Helper()
	var shown string
	tab.Eval(`document.body.innerText`, &shown)
	if !strings.Contains(shown, want) {
		t.Errorf("the page does not show %q:\n%s", want, shown)
	}
}

var longID = "contest-2026-11-problem-k-team-0017-attempt-3-" + strings.Repeat("x", 40)

// longReport returns a report with cells of every kind that is too wide: long words, long sentences, many CPUs.
func longReport() api.DoctorReport {
	cpus := strings.TrimSuffix(strings.Repeat("11,13,15-19,", 20), ",")
	r := api.DoctorReport{Schema: 1, Version: "v1.2.3", Host: api.DoctorHostSummary{Name: "judge-7"}}
	r.Checks = []api.DoctorCheck{
		{
			ID:       "sched-isolated",
			Title:    "isolated from the scheduler",
			Severity: api.SeverityS1,
			Status:   api.DoctorFail,
			Found:    "isolcpus=" + cpus,
			Wanted: "CPU " + cpus + " in isolcpus=domain, or a cpuset partition of the kind isolated, so that " +
				"nothing is moved there: the end of what is wanted",
		},
		{ID: "turbo-off", Title: "turbo", Severity: api.SeverityS1, Status: api.DoctorUnknown, Found: "-", Wanted: "off"},
		{
			ID:       "swap",
			Title:    "swap",
			Severity: api.SeverityS1,
			Status:   api.DoctorPass,
			Found:    "none",
			Wanted:   "none, or a kernel that can keep each run out of it",
		},
	}
	return r
}

func longJob() api.Report {
	over, limit := 2100*time.Millisecond, 2*time.Second
	memory := units.Bytes(64 << 20)
	test := api.TestReport{
		Name:       "secret/17-large-random",
		Verdict:    api.TimeLimit,
		CPUTime:    &over,
		WallTime:   &over,
		MemoryPeak: &memory,
		Message:    "<b>no markup</b>",
		Timing:     &api.Timing{N: 1, Limit: limit, MarginRatio: -0.05, Confidence: api.Noisy},
		Runs: []api.Run{
			{Kept: true, Disturbed: []api.Cause{}},
			{Disturbed: []api.Cause{api.CauseTick, api.CauseForeign}},
			{Disturbed: []api.Cause{api.CauseForeign}},
		},
	}
	return api.Report{
		ID:         longID,
		State:      api.Done,
		Verdict:    api.TimeLimit,
		CPUTime:    &over,
		MemoryPeak: &memory,
		CreatedAt:  noon,
		FinishedAt: noon,
		Message: strings.Repeat(
			"a long message ",
			20,
		),
		Host: &api.HostReport{Name: "judge-7", Isolation: "none", Turbo: "unknown"},
		Tests: []api.TestReport{test, {Name: "2", Verdict: api.Skipped}, {Name: "3", Verdict: api.InternalError,
			Runs: []api.Run{{CPUTime: over / 2, WallTime: over, Explained: api.Explained{CPUTime: 70 * time.Millisecond,
				WallTime: 90 * time.Millisecond}, Disturbed: []api.Cause{}}, {Disturbed: []api.Cause{}}}}},
	}
}
