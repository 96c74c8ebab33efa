package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/timing/stats"
)

// fairnessPage says how far chance can have decided the verdicts of a contest. It is made to be printed.
type fairnessPage struct {
	Labels    string // as asked for
	Asked     bool
	From, To  time.Time // of the jobs
	Jobs      int       // judged
	Truncated bool      // there are more
	Timed     int       // verdicts that rest on time: accepted ones, and those over the time limit
	Tests     int       // with a time
	Runs      int
	Repeated  int // tests that ran more than once
	Repeats   int // runs after the first of a test
	Flips     []*nearTest
	Aside     []causeCount
	SetAside  int
	Noise     int // verdicts IE for noise
	Near      []*nearTest
	NearJobs  int
	Hosts     []hostCount
	Compared  []hostResult
	Doubt     stats.Doubt
	Known     bool // Doubt has a result
	MinTimes  int
	MinOf     int
}

// nearTest is a test of a job whose time is near its limit.
type nearTest struct {
	Job     string
	Verdict api.Verdict // of the job
	Test    string
	Timing  api.Timing
	Time    time.Duration
	Runs    []api.Run
	Plot    *strip
	Doubt   float64
}

type causeCount struct {
	Cause api.Cause
	Means string
	Runs  int
}

type hostCount struct {
	Name   string
	Model  string
	Jobs   int
	Failed int // jobs judged while a check of doctor failed
}

type hostResult struct {
	Decision string
	Jobs     int
}

const (
	fairnessJobs = 20_000 // read for one page
	nearRatio    = 0.10   // distance from the limit within which a program is near it
	nearShown    = 300
)

func (h *handler) fairness(w http.ResponseWriter, r *http.Request) error {
	form := formOf(r.URL.Query())
	p := fairnessPage{Labels: form.Labels, MinTimes: stats.DoubtFrom, MinOf: stats.DoubtPrograms}
	if p.Asked = form.Labels != ""; p.Asked {
		request := *r
		address := *r.URL
		request.URL = &address
		address.RawQuery = listForm{Labels: form.Labels, State: string(api.Done)}.query("").Encode()
		filter, err := h.desk.Filter(&request)
		if err != nil {
			return err
		}
		filter.Limit = 500
		if err := h.readFairness(r.Context(), &p, filter); err != nil {
			return err
		}
	}
	return h.show(w, r, http.StatusOK, page{Title: "Fairness", template: "fairness.html", Body: p})
}

// fairnessData collects what the page is computed from.
type fairnessData struct {
	page     *fairnessPage
	aside    map[api.Cause]int
	hosts    map[string]*hostCount
	compared map[string]int
	decided  []stats.Decided
	of       []*nearTest // that the page shows of each decided time
	programs [][]float64
}

func (h *handler) readFairness(ctx context.Context, p *fairnessPage, filter jobs.Filter) error {
	d := fairnessData{page: p, aside: map[api.Cause]int{}, hosts: map[string]*hostCount{}, compared: map[string]int{}}
	for p.Jobs < fairnessJobs {
		list, next, err := h.desk.Jobs().List(ctx, filter)
		if err != nil {
			return err
		}
		for _, r := range list {
			record, err := h.desk.Jobs().Get(ctx, r.ID)
			if errors.Is(err, api.ErrNotFound) {
				continue // it has been deleted meanwhile
			}
			if err != nil {
				return err
			}
			d.add(record.Report)
		}
		if filter.After = next; next == "" {
			break
		}
	}
	p.Truncated = filter.After != ""
	d.finish()
	return nil
}

func (d *fairnessData) add(r api.Report) {
	p := d.page
	p.Jobs++
	if p.To.IsZero() || r.CreatedAt.After(p.To) {
		p.To = r.CreatedAt
	}
	if p.From.IsZero() || r.CreatedAt.Before(p.From) {
		p.From = r.CreatedAt
	}
	if r.Verdict == api.InternalError && r.Fault == api.NoiseFault {
		p.Noise++
	}
	d.addHost(r)
	timed := r.Verdict == api.Accepted || r.Verdict == api.Partial || r.Verdict == api.TimeLimit
	if timed {
		p.Timed++
	}
	near := false
	for _, t := range r.Tests {
		d.addRuns(t)
		if t.Timing == nil || t.CPUTime == nil || t.Timing.Limit <= 0 || len(t.Runs) == 0 {
			continue
		}
		near = d.addTest(r, t, timed) || near
	}
	if near {
		p.NearJobs++
	}
}

// addRuns counts runs and what they show about noise.
func (d *fairnessData) addRuns(t api.TestReport) {
	p := d.page
	runs := t.AllRuns()
	if len(runs) == 0 {
		return
	}
	p.Tests++
	p.Runs += len(runs)
	if again := len(runs) - max(1, len(t.Passes)); again > 0 {
		p.Repeated++
		p.Repeats += again
	}
	var kept []time.Duration
	for _, run := range runs {
		if run.Kept {
			kept = append(kept, run.CPUTime)
			continue
		}
		p.SetAside++
		for _, c := range run.Explained.Causes {
			d.aside[c.Cause]++
		}
	}
	if len(t.Passes) == 0 {
		if relative := stats.Relative(kept); relative != nil {
			d.programs = append(d.programs, relative)
		}
	}
}

// addTest adds a decided time, and reports whether it is near the limit.
func (d *fairnessData) addTest(r api.Report, t api.TestReport, timed bool) bool {
	p := d.page
	limit, over := t.Timing.Limit, t.Verdict == api.TimeLimit
	x := &nearTest{Job: r.ID, Verdict: r.Verdict, Test: t.Name, Timing: *t.Timing, Time: *t.CPUTime, Runs: t.Runs}
	if first := t.Runs[0].CPUTime > limit; (t.Verdict == api.Accepted || over) && first != over {
		x.Plot = plotRuns(t)
		p.Flips = append(p.Flips, x)
	}
	near := t.Timing.MarginRatio >= -nearRatio && t.Timing.MarginRatio <= nearRatio
	if near && timed {
		x.Plot = plotRuns(t)
		p.Near = append(p.Near, x)
	}
	if timed && len(t.Passes) == 0 {
		d.decided = append(d.decided, stats.Decided{Value: *t.CPUTime, Limit: limit, Statistic: t.Timing.Statistic,
			Runs: t.Timing.N, Over: over})
		d.of = append(d.of, x)
	}
	return near && timed
}

func (d *fairnessData) addHost(r api.Report) {
	if h := r.Host; h != nil {
		name := cmp.Or(h.Node, h.Name)
		if d.hosts[name] == nil {
			d.hosts[name] = &hostCount{Name: name, Model: h.CPUModel}
		}
		d.hosts[name].Jobs++
		if h.Doctor == nil || !h.Doctor.Ready {
			d.hosts[name].Failed++
		}
	}
	if r.CrossCheck != nil && r.CrossCheck.Decision != "" {
		d.compared[r.CrossCheck.Decision]++
	}
}

// finish computes the doubt, and sorts the lists.
func (d *fairnessData) finish() {
	p := d.page
	if p.Doubt, p.Known = stats.DoubtOf(d.decided, d.programs); p.Known {
		for i, x := range d.of {
			x.Doubt = p.Doubt.Each[i]
		}
	}
	byMargin := func(a, b *nearTest) int {
		return cmp.Or(cmp.Compare(b.Doubt, a.Doubt), cmp.Compare(distance(a), distance(b)))
	}
	slices.SortFunc(p.Near, byMargin)
	slices.SortFunc(p.Flips, byMargin)
	for _, e := range api.Catalogue() {
		if n := d.aside[e.Cause]; n > 0 {
			p.Aside = append(p.Aside, causeCount{e.Cause, e.Means, n})
		}
	}
	for _, h := range d.hosts {
		p.Hosts = append(p.Hosts, *h)
	}
	slices.SortFunc(p.Hosts, func(a, b hostCount) int { return strings.Compare(a.Name, b.Name) })
	for _, decision := range []string{api.HostsAgree, api.MajorityOfHosts, api.NoMajority, api.NoOtherHost} {
		if n := d.compared[decision]; n > 0 {
			p.Compared = append(p.Compared, hostResult{decisionText(decision), n})
		}
	}
}

func decisionText(decision string) string {
	switch decision {
	case api.HostsAgree:
		return "two hosts agreed"
	case api.MajorityOfHosts:
		return "two of three hosts agreed"
	case api.NoMajority:
		return "three hosts differed"
	}
	return "no other host was available"
}

func distance(x *nearTest) float64 { return max(x.Timing.MarginRatio, -x.Timing.MarginRatio) }

// Shown returns the tests near the limit that the page lists.
func (p fairnessPage) Shown() []*nearTest { return p.Near[:min(len(p.Near), nearShown)] }

// Average returns the mean probability that a verdict is wrong by time, with its interval.
func (p fairnessPage) Average() stats.Interval {
	n := float64(max(p.Timed, 1))
	e := p.Doubt.Expected
	return stats.Interval{Value: e.Value / n, Low: e.Low / n, High: e.High / n}
}

// Unseen returns how rare noise can be that these times do not show: with a confidence of 95 %, it occurs in fewer runs.
func (p fairnessPage) Unseen() float64 { return 3 / float64(max(p.Doubt.Times, 1)) }

// chance formats a probability so that a small one does not look like none.
func chance(x float64) string {
	switch {
	case x == 0:
		return "0 %"
	case x < 0.0001:
		return "below 0.01 %"
	case x < 0.1:
		return fmt.Sprintf("%.2f %%", 100*x)
	}
	return fmt.Sprintf("%.0f %%", 100*x)
}
