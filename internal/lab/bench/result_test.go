package bench

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
)

const ms = time.Millisecond

// TestPlan checks that a plan has every place once per round, in an order that differs between rounds and depends on
// the seed.
func TestPlan(t *testing.T) {
	const rounds, places = 50, 5
	plan := Plan(rounds, places, 7)
	orders := map[string]bool{}
	for i, round := range plan {
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, slices.Sorted(slices.Values(round))); diff != "" {
			t.Fatalf("round %d: -want +got\n%s", i, diff)
		}
		orders[cmp.Diff(nil, round)] = true
	}
	if len(plan) != rounds || len(orders) < 20 {
		t.Errorf("%d rounds in %d orders, want %d in many", len(plan), len(orders), rounds)
	}
	if diff := cmp.Diff(plan, Plan(rounds, places, 7)); diff != "" {
		t.Errorf("the same seed gives another plan:\n%s", diff)
	}
	if cmp.Equal(plan, Plan(rounds, places, 8)) {
		t.Error("another seed gives the same plan")
	}
	if got := Plan(0, 3, 1); len(got) != 0 {
		t.Errorf("no rounds: got %v", got)
	}
}

// sampleRuns returns three runs, the last of which has few figures.
func sampleRuns() []Run {
	run := func(cpu time.Duration, v api.Verdict, delay time.Duration, switches int64, causes ...api.Cause) Run {
		return Run{Round: 1, Turn: 2, Verdict: v, Run: api.Run{
			CPUTime: cpu, UserTime: new(cpu - ms), SystemTime: new(ms), WallTime: 2 * cpu,
			MemoryPeak: new(units.Bytes(4096)), CPUs: "1", Disturbed: causes,
			Evidence: api.Evidence{RunDelay: &delay, VoluntarySwitches: &switches},
		}}
	}
	last := Run{Round: 2, Turn: 1, Verdict: api.RuntimeError,
		Run: api.Run{CPUTime: 130 * ms, WallTime: 200 * ms, CPUs: "1"}}
	return []Run{run(100*ms, api.Accepted, 2*ms, 3), run(110*ms, api.Accepted, 4*ms, 9, api.CauseWait, api.CauseIRQ),
		last}
}

func TestSummarize(t *testing.T) {
	got := Summarize(sampleRuns())
	sigma2, sigma3 := func(d time.Duration) *time.Duration { return new(time.Duration(float64(d) / 1.128)) },
		func(d time.Duration) *time.Duration { return new(time.Duration(float64(d) / 1.693)) }
	want := Summary{
		Clean: 2, Verdicts: map[api.Verdict]int{api.Accepted: 2, api.RuntimeError: 1},
		UserTime:          &Times{2, 99 * ms, 104 * ms, 109 * ms, 10 * ms, new(10.0 / 104), sigma2(10 * ms)},
		SystemTime:        &Times{2, ms, ms, ms, 0, new(0.0), sigma2(0)},
		CPUTime:           &Times{3, 100 * ms, 110 * ms, 130 * ms, 30 * ms, new(30.0 / 110), sigma3(30 * ms)},
		WallTime:          &Times{3, 200 * ms, 200 * ms, 220 * ms, 20 * ms, new(0.1), sigma3(20 * ms)},
		RunDelay:          &Times{2, 2 * ms, 3 * ms, 4 * ms, 2 * ms, new(2.0 / 3), sigma2(2 * ms)},
		VoluntarySwitches: &Counts{2, 3, 9},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(Summary{Verdicts: map[api.Verdict]int{}}, Summarize(nil)); diff != "" {
		t.Errorf("no runs: -want +got\n%s", diff)
	}
}

// TestDescribeMany checks that beyond 25 runs, whose range says little, sigma is estimated from the MAD.
func TestDescribeMany(t *testing.T) {
	var all []time.Duration
	for i := range 41 {
		all = append(all, time.Duration(i)*ms)
	}
	all[40] = time.Hour
	if got, want := *Describe(all).Sigma, time.Duration(1.4826*10*float64(ms)); got != want {
		t.Errorf("sigma %s, want %s", got, want)
	}
}

func sampleResult() Result {
	runs := sampleRuns()
	return Result{Title: "./p", N: 3, Cases: []Outcome{{Case: "slot", Placement: Placement{ID: Slot, CPUs: "1"},
		Summary: Summarize(runs), Runs: runs}}}
}

func TestWriteCSV(t *testing.T) {
	const want = `case,placement,round,turn,cpus,verdict,cpu_time_ns,user_time_ns,system_time_ns,wall_time_ns,memory_peak_bytes,run_delay_ns,foreign_time_ns,steal_time_ns,voluntary_switches,involuntary_switches,migrations,minor_faults,major_faults,disturbed
slot,slot,1,2,1,AC,100000000,99000000,1000000,200000000,4096,2000000,,,3,,,,,
slot,slot,1,2,1,AC,110000000,109000000,1000000,220000000,4096,4000000,,,9,,,,,wait irq
slot,slot,2,1,1,RTE,130000000,,,200000000,,,,,,,,,,
`
	var b bytes.Buffer
	if err := sampleResult().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestChart(t *testing.T) {
	c := sampleResult().Chart()
	var values []float64
	var hollow []bool
	for _, d := range c.Lanes[0].Dots {
		values, hollow = append(values, d.Value), append(hollow, d.Hollow)
	}
	if c.Axis != "CPU time, ms" || c.Lanes[0].Note != "spread 30.0 ms (27.3 %)" ||
		!slices.Equal(values, []float64{100, 110, 130}) || !slices.Equal(hollow, []bool{false, true, false}) {
		t.Errorf("got %+v", c)
	}
}

func TestAllAccepted(t *testing.T) {
	r := sampleResult()
	if r.AllAccepted() {
		t.Error("a run ended with RTE, and all are said to have been accepted")
	}
	r.Cases[0].Runs = r.Cases[0].Runs[:2]
	r.Cases[0].Verdicts = map[api.Verdict]int{api.Accepted: 2}
	if !r.AllAccepted() {
		t.Error("all runs were accepted, and that is denied")
	}
	r.Cases = append(r.Cases, Outcome{})
	if r.AllAccepted() || (Result{}).AllAccepted() {
		t.Error("what has no run is said to have been accepted")
	}
}

func TestCompare(t *testing.T) {
	outcome := func(name string, times ...int) Outcome {
		o := Outcome{Case: name}
		for _, x := range times {
			o.Runs = append(o.Runs, Run{Run: api.Run{CPUTime: time.Duration(x) * ms}})
		}
		return o
	}
	cases := []Outcome{outcome("a", 100, 101, 102, 103, 104), outcome("b", 120, 121, 122, 123, 124),
		outcome("few", 1, 2)}
	tests := []struct{ a, b, want string }{
		{"a", "b", "b takes longer"},
		{"b", "a", "a takes less"},
		{"a", "a", "no difference shown"},
		{"a", "few", "error: compare a with few: 5 and 2 runs; measure both at least 4 times"},
		{"a", "absent", "error: compare a with absent: 5 and 0 runs; measure both at least 4 times"},
	}
	for _, tt := range tests {
		c, err := Compare(cases, tt.a, tt.b)
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = c.String()[strings.LastIndex(c.String(), ": ")+2:]
		}
		if got != tt.want {
			t.Errorf("%s, %s: got %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
	c, err := Compare(cases, "a", "b")
	if err != nil || c.Shift != 20*ms || c.MedianA != 102*ms || c.MedianB != 122*ms || c.ShiftLow > c.Shift ||
		c.ShiftHigh < c.Shift {
		t.Errorf("got %+v, %v", c, err)
	}
}
