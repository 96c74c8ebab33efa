package metrics

import (
	"context"
	"errors"
	"flag"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"judged/internal/api"
	"judged/internal/host/slots"
	"judged/internal/jobs"
)

var update = flag.Bool("update", false, "write the golden files")

const ms = time.Millisecond

// fed returns the metrics of a daemon that has judged one job: two tests, one of them repeated with runs on both sides
// of its limit, one of which was discarded.
func fed() *Metrics {
	m := New(Options{
		StoreOperations: []string{"put", "take", "finish", "blob"},
		Version:         "1.2.3",
		Revision:        "abcdef",
		Host: api.HostReport{Pool: "default", Fingerprint: "0123", CPUModel: "AMD EPYC", Kernel: "6.18.0",
			Isolation: "isolcpus"}, Virtual: true,
		Ready:     func() error { return errors.New("draining") },
		FreeBytes: func() int64 { return 5 << 30 },
		Expiry:    func() time.Time { return time.Unix(1900000000, 0) },
		Slots: func() []api.SlotStatus {
			return []api.SlotStatus{{CPUs: "2", State: slots.Idle}, {CPUs: "3", State: slots.Busy},
				{CPUs: "3", State: slots.Idle}}
		},
		Doctor: func() []api.DoctorCheck {
			return []api.DoctorCheck{{ID: "turbo-off", Severity: "S1", Status: api.DoctorFail},
				{ID: "swap-off", Severity: "S2", Status: api.DoctorPass}, {ID: "swap-off", Severity: "S2",
					Status: api.DoctorWarn}}
		},
		QueueDepth: func(context.Context) (jobs.Depths, error) {
			return jobs.Depths{"default": {api.Rejudge: 7}, "metal": {api.Contest: 2}}, nil
		},
		Pool: "default",
		Pools: func(_ context.Context, waiting jobs.Depths) ([]api.Pool, error) {
			return []api.Pool{{Name: "default", Judging: 1, Waiting: waiting.Total()},
				{Name: "metal", Screen: &api.Screen{}}}, nil
		},
		DisabledReceivers: func(context.Context) (int, error) { return 2, nil },
		Nodes: func(context.Context) ([]api.Node, error) {
			return []api.Node{{Name: "judge-1", Pool: "default", Up: true}, {Name: "judge-2", Pool: "metal",
				Deviation: &api.Deviation{Ratio: 0.03, Deviates: true}}}, nil
		},
		Turbo:    func() string { return "on" },
		Tuned:    func() map[string]bool { return map[string]bool{"thp": true, "governor": false} },
		Settings: []string{"thp", "governor", "ksm"}, CanaryInterval: 10 * time.Minute,
		Now: func() time.Time { return time.Unix(1800000000, 0) },
	})
	m.JobDone(report(), 1500*ms)
	m.AuditDone("metal", true)
	m.AuditDone("metal", false)
	m.CrossChecked("metal", api.MajorityOfHosts)
	m.NodeRetired("metal")
	m.Screened("metal", true)
	m.Screened("metal", false)
	m.ScreenChecked("metal", false, true)
	m.ScreenChecked("metal", true, false)
	m.TuneDrifted("governor")
	m.AttemptDone(AttemptDone)
	m.StoreFailed("finish")
	deviation := -0.012
	m.CanaryDone("3", "alu", 0.0744, &deviation)
	m.CanaryDone("4", "alu", 0.0744, &deviation)
	m.CanaryDone("4", "alu", 0.08, nil)
	return m
}

func report() *api.Report {
	run := func(cpu time.Duration, kept bool, e api.Evidence, causes ...api.Cause) api.Run {
		return api.Run{CPUTime: cpu, WallTime: cpu + ms, SystemTime: new(80 * ms), CPUs: "3", Kept: kept,
			Disturbed: causes, Evidence: e, Overhead: 3 * ms, Reading: ms / 5}
	}
	return &api.Report{State: api.Done, Verdict: api.TimeLimit, Priority: api.Contest, Tests: []api.TestReport{
		{Name: "1", Verdict: api.Accepted, Timing: &api.Timing{N: 1, Limit: 1000 * ms}, Runs: []api.Run{
			run(40*ms, true, api.Evidence{}),
		}},
		{Name: "2", Verdict: api.TimeLimit,
			Timing: &api.Timing{N: 2, Limit: 1000 * ms, Spread: 20 * ms, SpreadRatio: new(0.02)},
			Runs: []api.Run{
				run(990*ms, true, api.Evidence{RunDelay: new(ms / 2), ForeignTime: new(ms),
					StealTime:   new(time.Duration(0)),
					MinorFaults: new(int64(40000)), Interrupts: map[string]int64{"LOC": 250, "CAL": 3, "ERR": 9,
						"softirq_net": 4, "softirq_block": 5, "core_throttles": 1, "package_throttles": 1},
					FrequencyRatio: new(0.996), SMIs: new(int64(2))}),
				run(1010*ms, true, api.Evidence{RunDelay: new(ms / 4), MinorFaults: new(int64(400))}),
				run(1300*ms, false, api.Evidence{RunDelay: new(300 * ms), ForeignTime: new(250 * ms),
					StealTime: new(10 * ms)},
					api.CauseWait, api.CauseForeign),
			}},
	}}
}

// exposition returns the content of a scrape without the metrics of the Go runtime and the process.
func exposition(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	own := regexp.MustCompile(`^(# (HELP|TYPE) )?judged_`)
	var kept strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if own.MatchString(line) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func TestExposition(t *testing.T) {
	const golden = "testdata/golden/metrics.txt"
	m := fed()
	exposition(t, m) // the first scrape finds the pools
	got := exposition(t, m)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the exposition changed; if that is meant, run with -update and read the diff:\n%s", diff)
	}
}

func TestLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(fed().registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestPromisedMetrics checks the metrics and labels that judged promises to operators.
func TestPromisedMetrics(t *testing.T) {
	promised := map[string][]string{
		"judged_runs_total":               {"verdict"},
		"judged_run_cpu_seconds":          nil,
		"judged_run_wall_seconds":         nil,
		"judged_repeat_spread_ratio":      nil,
		"judged_repeat_spread_seconds":    nil,
		"judged_run_delay_seconds":        nil,
		"judged_runs_disturbed_total":     {"cause"},
		"judged_verdict_flips_total":      nil,
		"judged_canary_seconds":           {"cpu", "kernel"},
		"judged_canary_deviation_ratio":   {"cpu", "kernel"},
		"judged_slot_state":               {"cpus", "state"},
		"judged_doctor_check_status":      {"check", "severity", "status"},
		"judged_turbo_enabled":            nil,
		"judged_queue_depth":              {"priority"},
		"judged_node_up":                  {"node", "pool"},
		"judged_host_deviation_ratio":     {"node", "pool"},
		"judged_queue_wait_seconds":       nil,
		"judged_sandbox_overhead_seconds": nil,
		"judged_evidence_seconds":         nil,
		"judged_run_frequency_ratio":      nil,
		"judged_ready":                    nil,
		"judged_data_free_bytes":          nil,
		"judged_store_errors_total":       {"operation"},
	}
	got := labels(t, fed())
	for name, want := range promised {
		have, ok := got[name]
		if !ok {
			t.Errorf("%s is missing", name)
		} else if !slices.Equal(have, want) {
			t.Errorf("%s has labels %v, want %v", name, have, want)
		}
	}
}

// labels returns the metric families of a registry with the names of their labels.
func labels(t *testing.T, m *Metrics) map[string][]string {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, f := range families {
		var names []string
		for _, pair := range f.GetMetric()[0].GetLabel() {
			names = append(names, pair.GetName())
		}
		found[f.GetName()] = names
	}
	return found
}

// TestUnknownStateIsAbsent checks that state that is unknown or unavailable is absent, and that no other series are.
func TestUnknownStateIsAbsent(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options Options
	}{
		{"no sources", Options{}},
		{"sources that know nothing", Options{
			Slots:      func() []api.SlotStatus { return nil },
			Doctor:     func() []api.DoctorCheck { return nil },
			Turbo:      func() string { return "unknown" },
			Expiry:     func() time.Time { return time.Time{} },
			QueueDepth: func(context.Context) (jobs.Depths, error) { return nil, errors.New("closed") },
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := labels(t, New(tt.options))
			for _, name := range []string{"judged_slot_state", "judged_doctor_check_status", "judged_turbo_enabled",
				"judged_queue_depth", "judged_certificate_expiry_timestamp_seconds"} {
				if _, ok := got[name]; ok {
					t.Errorf("%s is there", name)
				}
			}
			if _, ok := got["judged_runs_total"]; !ok {
				t.Error("judged_runs_total is gone")
			}
		})
	}
}

func TestFailingQueueIsCounted(t *testing.T) {
	m := New(Options{QueueDepth: func(context.Context) (jobs.Depths, error) {
		return nil,
			errors.New("closed")
	}})
	if n := testutil.CollectAndCount(m.internalErrors); n != len(api.AllFaults()) {
		t.Errorf("%d series of internal errors, want %d", n, len(api.AllFaults()))
	}
	if got := exposition(t, m); !strings.Contains(got, "\njudged_queue_depth_errors_total 1\n") {
		t.Errorf("first failure is not shown:\n%s", got)
	}
}

// TestRetiredStartsAt0 checks that each pool has the counter before its first node is drained: Prometheus sees no
// increase of a series that begins with 1.
func TestRetiredStartsAt0(t *testing.T) {
	m := fed()
	exposition(t, m)
	if got := exposition(t, m); !strings.Contains(got, "\njudged_nodes_retired_total{pool=\"default\"} 0\n") ||
		!strings.Contains(got, "\njudged_nodes_retired_total{pool=\"metal\"} 1\n") {
		t.Errorf("no counter of a pool, or another than of drained nodes:\n%s", got)
	}
}

func TestTurboOff(t *testing.T) {
	m := New(Options{Turbo: func() string { return "off" }})
	if got := exposition(t, m); !strings.Contains(got, "\njudged_turbo_enabled 0\n") {
		t.Error("judged_turbo_enabled is not 0")
	}
}

func TestFlipped(t *testing.T) {
	runs := func(ks ...bool) []api.Run { // within and over the limit, alternately
		var rs []api.Run
		for i, kept := range ks {
			rs = append(rs, api.Run{CPUTime: 1000*ms + time.Duration(i%2), Kept: kept})
		}
		return rs
	}
	for _, tt := range []struct {
		name  string
		limit time.Duration
		runs  []api.Run
		want  bool
	}{
		{"both sides", 1000 * ms, runs(true, true), true},
		{"the one over it was discarded", 1000 * ms, runs(true, false, true), false},
		{"all within", 2000 * ms, runs(true, true), false},
		{"all over", 999 * ms, runs(true, true), false},
		{"no limit", 0, runs(true, true), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := flipped(&api.TestReport{Timing: &api.Timing{Limit: tt.limit}, Runs: tt.runs}); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestOddReports checks that labels come from closed sets for any report, and that an unfinished report is not counted.
func TestOddReports(t *testing.T) {
	m := New(Options{})
	m.JobDone(&api.Report{State: api.Running, Verdict: api.Accepted}, 0)
	m.JobDone(&api.Report{State: api.Done, Verdict: "??", Priority: "!!"}, -1)
	m.JobDone(&api.Report{State: api.Done, Verdict: api.InternalError, Fault: api.JuryFault}, -1)
	m.JobDone(&api.Report{State: api.Done, Verdict: api.InternalError, Fault: "moon"}, -1)
	m.JobDone(&api.Report{State: api.CancelledState, Verdict: api.Cancelled, Priority: api.Contest}, ms)
	m.JobReplaced()
	want := map[string]float64{"AC": 0, "IE practice": 3, "CX contest": 1, "fault jury": 1,
		"fault judged, not said, not known or replaced": 3}
	got := map[string]float64{
		"AC":          testutil.ToFloat64(m.jobs.WithLabelValues("AC", "contest")),
		"IE practice": testutil.ToFloat64(m.jobs.WithLabelValues("IE", "practice")),
		"CX contest":  testutil.ToFloat64(m.jobs.WithLabelValues("CX", "contest")),
		"fault jury":  testutil.ToFloat64(m.internalErrors.WithLabelValues("jury")),
		"fault judged, not said, not known or replaced": testutil.ToFloat64(m.internalErrors.WithLabelValues("judged")),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := testutil.CollectAndCount(m.jobs); n != len(verdicts())*len(api.AllPriorities()) {
		t.Errorf("%d series of jobs, want %d", n, len(verdicts())*len(api.AllPriorities()))
	}
	if got := exposition(t, m); !strings.Contains(got, "\njudged_queue_wait_seconds_count 1\n") {
		t.Error("an unknown wait was counted")
	}
}
