package daemon

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"judged/internal/api"
	"judged/internal/client"
	"judged/internal/testkit"
)

// promised are the metrics of the contract, except for those of the canary, which have series only after one has run,
// and judged_turbo_enabled, which has no series if the state is unknown.
var promised = []string{
	"judged_runs_total", "judged_run_cpu_seconds", "judged_run_wall_seconds", "judged_repeat_spread_ratio",
	"judged_repeat_spread_seconds", "judged_run_delay_seconds", "judged_runs_disturbed_total", "judged_verdict_flips_total",
	"judged_slot_state", "judged_doctor_check_status", "judged_queue_depth", "judged_queue_wait_seconds",
	"judged_sandbox_overhead_seconds", "judged_evidence_seconds", "judged_ready", "judged_data_free_bytes",
	"judged_store_errors_total",
}

// scrape reads /metrics like a Prometheus server that accepts the text format.
func (i *instance) scrape() map[string]*dto.MetricFamily {
	i.t.Helper()
	a := i.ask("GET", "/metrics", nil)
	if a.status != 200 {
		i.t.Fatalf("status %d: %s", a.status, a.body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(a.body))
	if err != nil {
		i.t.Fatalf("parse the exposition: %v", err)
	}
	return families
}

// values returns the nonzero series of a counter or a gauge by their labels.
func values(f *dto.MetricFamily) map[string]float64 {
	all := map[string]float64{}
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		if v := m.GetCounter().GetValue() + m.GetGauge().GetValue(); v != 0 {
			all[strings.Join(labels, " ")] = v
		}
	}
	return all
}

// reports returns all jobs of the daemon with their tests.
func (i *instance) reports() []api.Report {
	i.t.Helper()
	var all []api.Report
	for f := (client.Filter{}); ; {
		page, err := i.List(i.ctx, f)
		if err != nil {
			i.t.Fatal(err)
		}
		for _, r := range page.Jobs {
			all = append(all, i.finish(r.ID))
		}
		if f.After = page.Next; page.Next == "" {
			return all
		}
	}
}

// expected holds the counters that follow from the reports.
type expected struct {
	counters map[string]map[string]float64
	counts   map[string]uint64
	sums     map[string]float64
}

func expect(all []api.Report) expected {
	x := expected{counters: map[string]map[string]float64{}, counts: map[string]uint64{}, sums: map[string]float64{}}
	add := func(name, labels string) {
		if x.counters[name] == nil {
			x.counters[name] = map[string]float64{}
		}
		x.counters[name][labels]++
	}
	observe := func(name string, d time.Duration) {
		x.counts[name]++
		x.sums[name] += d.Seconds()
	}
	for _, r := range all {
		add("judged_jobs_total", fmt.Sprintf("priority=%s verdict=%s", r.Priority, r.Verdict))
		if r.State == api.Done {
			x.counts["judged_queue_wait_seconds"]++
		}
		for _, t := range r.Tests {
			for _, run := range t.AllRuns() {
				add("judged_runs_total", "verdict="+string(t.Verdict))
				observe("judged_run_cpu_seconds", run.CPUTime)
				observe("judged_run_wall_seconds", run.WallTime)
				if r.State == api.Done { // only the host itself knows these when it stores the report
					x.counts["judged_sandbox_overhead_seconds"]++
					x.counts["judged_evidence_seconds"]++
				}
				if run.Evidence.RunDelay != nil {
					observe("judged_run_delay_seconds", *run.Evidence.RunDelay)
				}
				for _, c := range run.Disturbed {
					add("judged_runs_disturbed_total", "cause="+string(c))
				}
			}
			if t.Timing != nil && t.Timing.N > 1 {
				observe("judged_repeat_spread_seconds", t.Timing.Spread)
				x.counts["judged_repeat_spread_ratio"]++
			}
		}
	}
	return x
}

// metricsAgree compares the counters with the reports of all jobs that this daemon has judged.
func metricsAgree(t *testing.T, d *instance) {
	d.idle()
	all := d.reports()
	families := d.scrape()
	for _, name := range promised {
		if families[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	for name := range families {
		if !strings.HasPrefix(name, "judged_") && !strings.HasPrefix(name, "go_") &&
			!strings.HasPrefix(name, "process_") {
			t.Errorf("%s is of nobody here", name)
		}
	}
	x := expect(all)
	t.Logf("%d jobs, %v runs", len(all), x.counters["judged_runs_total"])
	for name, want := range x.counters {
		if diff := cmp.Diff(want, values(families[name])); diff != "" {
			t.Errorf("%s (-reports +metrics):\n%s", name, diff)
		}
	}
	for name, want := range x.counts {
		h := families[name].GetMetric()[0].GetHistogram()
		if h.GetSampleCount() != want {
			t.Errorf("%s counts %d, the reports %d", name, h.GetSampleCount(), want)
		}
		if sum, ok := x.sums[name]; ok && math.Abs(h.GetSampleSum()-sum) > 1e-6*math.Abs(sum)+1e-9 {
			t.Errorf("%s sums up to %g, the reports to %g", name, h.GetSampleSum(), sum)
		}
	}
	stateAgrees(t, d, families)
	lint(t, d)
}

func stateAgrees(t *testing.T, d *instance, families map[string]*dto.MetricFamily) {
	slots, err := d.Slots(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for _, s := range slots {
		want["cpus="+s.CPUs+" state="+s.State] = 1
	}
	if diff := cmp.Diff(want, values(families["judged_slot_state"])); diff != "" {
		t.Errorf("slots (-api +metrics):\n%s", diff)
	}
	if depth := values(families["judged_queue_depth"]); len(depth) != 0 ||
		len(families["judged_queue_depth"].GetMetric()) != len(api.Priorities()) {
		t.Errorf("queue depth %v, want 0 for every priority", families["judged_queue_depth"])
	}
	report, err := d.Doctor(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	checks := map[string]float64{}
	for _, c := range report.Checks {
		checks[fmt.Sprintf("check=%s severity=%s status=%s", c.ID, c.Severity, c.Status)] = 1
	}
	// GET /v1/doctor examines the host again, and the next scrape has the result.
	if diff := cmp.Diff(checks, values(d.scrape()["judged_doctor_check_status"])); diff != "" {
		t.Errorf("doctor (-api +metrics):\n%s", diff)
	}
}

// lint applies promtool's rules. They do not cover the names that client_golang gives to metrics of the Go runtime.
func lint(t *testing.T, d *instance) {
	problems, err := promlint.New(bytes.NewReader(d.ask("GET", "/metrics", nil).body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "judged_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestJobsLeaveNothingInMemory checks that there are no more goroutines after fifty jobs than before. The benchmark
// measures memory, which is a promise; this test finds only what no garbage collection can explain.
func TestJobsLeaveNothingInMemory(t *testing.T) {
	d := serving(t, settings(t))
	judgeMany(d, "warm", 5)
	before := d.gauge("go_goroutines")
	judgeMany(d, "many", 50)
	var after float64
	testkit.WaitFor(
		traceTB{t, &[]string{fmt.Sprintf("%g at first", before)}}, patience, "goroutines to end",
		func() bool {
			after = d.gauge("go_goroutines")
			return after <= before
		},
	)
	rss := d.gauge("process_resident_memory_bytes") / (1 << 20)
	t.Logf("after 55 jobs: %g goroutines, %.1f MiB resident, %g descriptors", after, rss, d.gauge("process_open_fds"))
	if rss > 200 {
		t.Errorf("%.0f MiB resident, want below 200", rss)
	}
	d.drain()
}

func judgeMany(d *instance, name string, n int) {
	d.t.Helper()
	for k := range n {
		d.submit(fmt.Sprintf("%s-%d", name, k), d.sum(k, false))
	}
	for k := range n {
		if r := d.finish(fmt.Sprintf("%s-%d", name, k)); r.Verdict != api.Accepted {
			d.t.Errorf("%s-%d: %s", name, k, r.Verdict)
		}
	}
	d.idle()
}
