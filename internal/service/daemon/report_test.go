package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// contractKeys are the members of a report in CONTRACT 3 that every machine can provide, for a job without scores whose
// program exits by itself. A list is represented by its first element.
var contractKeys = strings.Fields(`
	id state verdict judgement_type deterministic cpu_time_ns wall_time_ns memory_peak_bytes
	tests[].name tests[].verdict tests[].cpu_time_ns tests[].user_time_ns tests[].system_time_ns tests[].wall_time_ns
	tests[].memory_peak_bytes tests[].output_bytes tests[].exit.code tests[].checker.verdict
	tests[].stdout_head tests[].stderr_head
	tests[].timing.n tests[].timing.statistic tests[].timing.min_ns tests[].timing.median_ns tests[].timing.max_ns
	tests[].timing.spread_ns tests[].timing.spread_ratio tests[].timing.mad_ns tests[].timing.limit_ns
	tests[].timing.margin_ratio tests[].timing.policy tests[].timing.decided_by tests[].timing.confidence
	tests[].runs[].cpu_time_ns tests[].runs[].user_time_ns tests[].runs[].system_time_ns tests[].runs[].wall_time_ns
	tests[].runs[].memory_peak_bytes tests[].runs[].cpus tests[].runs[].numa_node tests[].runs[].disturbed tests[].runs[].kept
	tests[].runs[].evidence.run_delay_ns tests[].runs[].evidence.foreign_time_ns tests[].runs[].evidence.steal_time_ns
	tests[].runs[].evidence.voluntary_switches tests[].runs[].evidence.involuntary_switches tests[].runs[].evidence.migrations
	tests[].runs[].evidence.minor_faults tests[].runs[].evidence.major_faults
	host.name host.pool host.fingerprint host.kernel host.cpu_model host.isolation host.turbo host.doctor.ready host.doctor.failed
	labels.set created_at started_at finished_at attempt`)

// paths counts the members of a JSON document by path. All elements of a list have the same path.
func paths(v any, path string, into map[string]int) {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			paths(member, strings.TrimPrefix(path+"."+k, "."), into)
		}
	case []any:
		if len(v) == 0 {
			into[path]++
		}
		for _, element := range v {
			if _, object := element.(map[string]any); object {
				paths(element, path+"[]", into)
			} else {
				into[path]++
			}
		}
	default:
		into[path]++
	}
}

func completeReport(t *testing.T, d *instance) {
	const repeats = 5
	j := d.busy(40)
	j.Tests = []api.Test{{Name: "a", Answer: text("")}, {Name: "b", Answer: text("")}}
	j.Limits = api.Limits{CPUTimeMS: 2000}
	j.Repeats = api.Repeats{Min: repeats, Max: repeats}
	j.Head, j.Labels = 100, map[string]string{"set": "x"}
	d.submit("report", j)
	d.finish("report")
	body := d.ask("GET", "/v1/jobs/report", nil).body

	var document any
	if err := json.Unmarshal(body, &document); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	paths(document, "", found)
	for _, key := range contractKeys {
		want := 1
		if strings.HasPrefix(key, "tests[]") {
			want = len(j.Tests)
		}
		if strings.Contains(key, "runs[]") {
			want *= repeats
		}
		// In a list of words, every word counts.
		if found[key] < want {
			t.Errorf("%s comes %d times, want %d", key, found[key], want)
		}
	}
	if !strings.Contains(strings.Join(slices.Collect(maps.Keys(found)), " "), "evidence.interrupts.") {
		t.Error("no interrupts in any run of 40 ms")
	}

	var r api.Report
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	if r.ID != "report" || r.State != api.Done || r.Verdict != api.Accepted || r.JudgementType != "AC" ||
		r.Attempt != 1 ||
		!*r.Deterministic {
		t.Errorf("report %s", body)
	}
	if r.CreatedAt.After(r.StartedAt) || r.StartedAt.After(r.FinishedAt) {
		t.Errorf("created %s, started %s, finished %s", r.CreatedAt, r.StartedAt, r.FinishedAt)
	}
	if r.Host.Pool != "default" || r.Host.Turbo != "on" && r.Host.Turbo != "off" && r.Host.Turbo != "unknown" {
		t.Errorf("host %+v", r.Host)
	}
	slots, err := d.Slots(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var worst time.Duration
	for _, test := range r.Tests {
		worst = max(worst, *test.CPUTime)
		for _, finding := range relations(test, slots[0].CPUs, repeats) {
			t.Errorf("test %s: %s", test.Name, finding)
		}
	}
	if *r.CPUTime != worst {
		t.Errorf("CPU time %s, of the worst test %s", *r.CPUTime, worst)
	}
}

// relations checks the relations between the members of a test's report.
func relations(test api.TestReport, cpus string, repeats int) []string {
	var wrong []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	var times []time.Duration
	for n, run := range test.Runs {
		if run.Kept {
			times = append(times, run.CPUTime)
		}
		check(run.CPUs == cpus, "run %d on CPUs %s, the slot is %s", n, run.CPUs, cpus)
		check(run.CPUTime > 0 && run.WallTime > 0, "run %d took %s CPU, %s wall", n, run.CPUTime, run.WallTime)
		// The program has one thread on one CPU, and the two clocks are read one after the other.
		check(run.CPUTime <= run.WallTime+10*time.Millisecond, "run %d: CPU time %s above wall time %s", n, run.CPUTime,
			run.WallTime)
		sum := *run.UserTime + *run.SystemTime
		check((sum-run.CPUTime).Abs() <= time.Microsecond, "run %d: user and system are %s, both %s", n, sum,
			run.CPUTime)
		check(*run.MemoryPeak > 0, "run %d needed no memory", n)
		check(*run.Evidence.MinorFaults > 0, "run %d had no page fault", n)
	}
	slices.Sort(times)
	tm := test.Timing
	check(len(test.Runs) == repeats && tm.N == len(times) && len(times) == repeats, "%d runs, %d kept, n %d",
		len(test.Runs), len(times), tm.N)
	if tm.N != len(times) || tm.N != repeats {
		return wrong
	}
	got := []time.Duration{tm.Min, tm.Median, tm.Max, tm.Spread}
	want := []time.Duration{times[0], times[repeats/2], times[repeats-1], times[repeats-1] - times[0]}
	if diff := cmp.Diff(want, got); diff != "" {
		check(false, "min, median, max, spread (-want +got):\n%s", diff)
	}
	check(*tm.MAD >= 0 && *tm.MAD <= tm.Spread, "mad %s, spread %s", *tm.MAD, tm.Spread)
	check(*tm.SpreadRatio == float64(tm.Spread)/float64(tm.Median), "spread ratio %g", *tm.SpreadRatio)
	check(tm.Limit == 2*time.Second, "limit %s", tm.Limit)
	check(tm.Min <= *test.CPUTime && *test.CPUTime <= tm.Max, "CPU time %s outside of %s to %s", *test.CPUTime, tm.Min,
		tm.Max)
	check(tm.MarginRatio == float64(tm.Limit-*test.CPUTime)/float64(tm.Limit), "margin ratio %g", tm.MarginRatio)
	return wrong
}

// verdicts checks jobs that are not accepted, some with tests that do not run.
func verdicts(t *testing.T, d *instance) {
	for id, j := range map[string]api.Job{
		"ve-WA":  d.sum(70, true),
		"ve-RTE": {Program: d.program("sum/RTE-exit.c"), Tests: []api.Test{{Name: "1"}, {Name: "2"}}},
		"ve-TLE": {Program: d.program("sum/TLE-spin.c"), Tests: []api.Test{{Name: "1"}, {Name: "2"}},
			Limits: api.Limits{CPUTimeMS: 100, WallTimeMS: 60_000},
			Stop:   api.StopNever, Priority: api.Contest, Repeats: api.Repeats{Policy: api.Single}},
	} {
		d.submit(id, j)
		r := d.finish(id)
		if want := strings.TrimPrefix(id, "ve-"); string(r.Verdict) != want || len(r.Tests) != len(j.Tests) {
			t.Errorf("%s: verdict %s with %d tests", id, r.Verdict, len(r.Tests))
		}
	}
}
