package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/client"
	"judged/internal/fleet/judge"
	"judged/internal/jobs"
	"judged/internal/testkit"
)

// simulatedHost takes jobs of a pool over HTTP like a judge node. The name of a job's test is the time that it takes in
// the deciding pool; this host takes percent of that.
type simulatedHost struct {
	name, pool string
	percent    *atomic.Int64
}

func (h simulatedHost) run(ctx context.Context, t *testing.T, front client.Client) {
	source, err := judge.NewSource(judge.Options{Front: front, Node: h.name, Spool: filepath.Join(t.TempDir(), "spool"),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Error(err)
		return
	}
	for started := true; ctx.Err() == nil; started = false {
		_ = source.HandIn(ctx) // repeated with the next registration
		if _, err := source.Register(ctx, api.Registration{Pool: h.pool, Fingerprint: "class-of-" + h.pool, Ready: true,
			Started: started, Time: time.Now(), Slots: []api.NodeSlot{{CPUs: "1", State: "idle"}}}); err != nil {
			continue
		}
		for n := 0; n < 100 && ctx.Err() == nil; n++ {
			work, err := source.Take(ctx, api.Want{Pool: h.pool, Width: 1, CPUs: "1"})
			if err != nil {
				break
			}
			err = source.Finish(context.WithoutCancel(ctx), work.Lease, h.judge(work.Job))
			if errors.Is(err, api.ErrUnavailable) {
				break // the front is restarting; the report is in the spool
			}
			if err != nil {
				t.Errorf("%s: finish %s: %v", h.name, work.ID, err)
			}
		}
	}
}

func (h simulatedHost) judge(j api.Job) api.Report {
	name := j.Tests[0].Name
	there, _ := time.ParseDuration(name) // time of the test in the deciding pool
	cpu, v := there*time.Duration(h.percent.Load())/100, api.Accepted
	if cpu > j.Limits.CPUTime() {
		v = api.TimeLimit
	}
	limit := j.Limits.CPUTime()
	test := api.TestReport{Name: name, Verdict: v, CPUTime: &cpu, WallTime: &cpu,
		Timing: &api.Timing{N: 1, Statistic: "single", Limit: limit, MarginRatio: 1 - float64(cpu)/float64(limit)},
		Runs:   []api.Run{{CPUTime: cpu, CPUs: "1", Kept: true, Disturbed: []api.Cause{}}}}
	return api.Report{Verdict: v, Tests: []api.TestReport{test}, Host: &api.HostReport{Name: h.name, Pool: h.pool,
		Fingerprint: "class-of-" + h.pool, Kernel: "6", CPUModel: "x", Isolation: "none", Turbo: "off"}}
}

// submitScreened submits the next job for the pool cloud. Its limit is 1 s.
func (i *instance) submitScreened(number *int, takes string) (id string) {
	i.t.Helper()
	*number++
	id = fmt.Sprint("job-", *number)
	j := in("cloud", i.sum(1, false))
	j.Tests[0].Name, j.Limits.CPUTimeMS = takes, 1000
	i.submit(id, j)
	return id
}

// screenOf returns what the front reports about the screen of the pool cloud.
func (i *instance) screenOf() api.Screen {
	i.t.Helper()
	list, err := client.ListPools(i.ctx, i.Client)
	if err != nil {
		i.t.Fatal(err)
	}
	for _, p := range list {
		if p.Name == "cloud" && p.Screen != nil {
			return *p.Screen
		}
	}
	i.t.Fatalf("no screen in %+v", list)
	return api.Screen{}
}

// TestScreening checks a pool cloud that takes 1.2 times as long as the pool metal. The front learns the ratio, and
// then cloud decides what is clearly within the limit. The ratio survives a restart of the front. When cloud becomes
// faster, a check closes the screen. The front and the protocol are real; the judges are simulated.
func TestScreening(t *testing.T) {
	t.Parallel() // its judges are simulated
	c := frontSettings(t)
	c.Audit.Percent, c.Audit.Interval = 0, time.Second
	c.Pools = []config.Pool{{Name: "cloud", DecidedBy: "metal", CheckPercent: 100}, {Name: "metal"}}
	front := serving(t, c)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()
	var percent [2]atomic.Int64
	for i, pool := range []string{"metal", "cloud"} {
		percent[i].Store(100 + 20*int64(i))
		host := simulatedHost{"judge-" + pool, pool, &percent[i]}
		running.Go(func() { host.run(ctx, t, front.Client) })
	}
	testkit.WaitFor(t, patience, "the judges", func() bool { return len(front.nodes()) == 2 })
	number := 0
	submit := func(takes string) string { return front.submitScreened(&number, takes) }
	time200 := func() api.Report { return front.finish(submit("200ms")) }
	if r := time200(); r.Host.Pool != "metal" || r.Screening != nil {
		t.Errorf("a job before the ratio is known: %+v", r)
	}
	// Jobs that ended before the front began to audit do not count.
	testkit.WaitFor(t, patience, "the ratio to be learned", func() bool {
		s := front.screenOf()
		if len(s.Ratios) == 0 || s.Ratios[0].Pairs < 299 {
			for range 30 {
				submit("200ms")
			}
		}
		return len(s.Ratios) == 1 && s.Ratios[0].Known &&
			s.Ratios[0].SmallestRatio > 1.19 && s.Ratios[0].SmallestRatio < 1.21
	})
	front.drain()
	front = serving(t, c)
	var decided api.Report
	testkit.WaitFor(t, patience, "the cloud to decide", func() bool {
		decided = time200()
		return decided.Host.Pool == "cloud"
	})
	if s := decided.Screening; s == nil || !s.Decided || s.Pool != "cloud" || s.SmallestRatio < 1.19 {
		t.Errorf("screening of a job that the cloud decides: %+v", s)
	}
	over := front.finish(submit("1100ms"))
	if s := over.Screening; over.Verdict != api.TimeLimit || over.Host.Pool != "metal" || s == nil || s.Decided ||
		!strings.Contains(s.Reason, "limit of time") {
		t.Errorf("a job over the limit: %+v, %+v", over, s)
	}
	// In cloud it takes 1.08 s and is over the limit; the report of metal counts.
	near := front.finish(submit("900ms"))
	if near.Verdict != api.Accepted || near.Host.Pool != "metal" ||
		near.Attempt != 1 || *near.Tests[0].CPUTime != 900*time.Millisecond {
		t.Errorf("a job near the limit: %+v", near)
	}
	first, err := front.Job(front.ctx, near.Screening.Job, 0)
	if err != nil || first.Verdict != api.TimeLimit || first.Host.Pool != "cloud" ||
		first.Labels[jobs.ScreeningLabel] != near.ID {
		t.Errorf("the report of the cloud: %+v, %v", first, err)
	}
	page, err := front.List(front.ctx, client.Filter{Labels: map[string]string{jobs.ScreeningLabel: near.ID}})
	if err != nil || len(page.Jobs) != 1 || page.Jobs[0].ID != first.ID {
		t.Errorf("reports of the cloud by label: %+v, %v", page, err)
	}
	contest := in("cloud", front.sum(1, false))
	contest.Tests[0].Name, contest.Priority = "200ms", api.Contest
	front.submit("contest", contest)
	if r := front.finish("contest"); r.Host.Pool != "metal" || r.Screening != nil {
		t.Errorf("a job of a contest, for which too few pairs are known: %+v", r)
	}
	percent[1].Store(60)
	wrong := front.finish(submit("1100ms")) // 660 ms / 1.2 is within 1 s
	if wrong.Verdict != api.Accepted || wrong.Host.Pool != "cloud" {
		t.Errorf("a job that a cloud that became faster judges: %+v", wrong)
	}
	testkit.WaitFor(t, patience, "a check to close the screen", func() bool { return !front.screenOf().Open })
	if s := front.screenOf(); !strings.Contains(s.Reason, wrong.ID) {
		t.Errorf("reason: %q, want one with %s", s.Reason, wrong.ID)
	}
	if r := time200(); r.Host.Pool != "metal" {
		t.Errorf("a job for a closed screen: %+v", r)
	}
	scraped := front.scrape()
	if got := values(scraped["judged_screen_checks_total"])["pool=cloud result=refuted"]; got != 1 {
		t.Errorf("judged_screen_checks_total: %v", values(scraped["judged_screen_checks_total"]))
	}
	if _, found := scraped["judged_screen_open"]; !found || values(scraped["judged_screen_open"])["pool=cloud"] != 0 {
		t.Errorf("judged_screen_open: %v", values(scraped["judged_screen_open"]))
	}
	if _, err := client.OpenScreen(front.ctx, front.Client, "metal"); !client.NotFound(err) {
		t.Errorf("open a pool without a screen: %v, want 404", err)
	}
	if _, err := client.OpenScreen(front.ctx, front.Client, "cloud"); err != nil {
		t.Fatal(err)
	}
	// Checks that end now are the first pairs of a new ratio.
	learned := func(r api.ScreenRatio) bool { return r.Known || r.Pairs > 10 }
	if s := front.screenOf(); !s.Open || slices.ContainsFunc(s.Ratios, learned) {
		t.Errorf("the screen after it was opened: %+v", s)
	}
}
