package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

const ms = time.Millisecond

// millis returns times in milliseconds.
func millis(xs ...int) []time.Duration {
	var out []time.Duration
	for _, x := range xs {
		out = append(out, time.Duration(x)*ms)
	}
	return out
}

// took returns runs with times in milliseconds that noise does not explain.
func took(xs ...int) []Run {
	var out []Run
	for _, x := range millis(xs...) {
		out = append(out, Run{CPUTime: x})
	}
	return out
}

// explained returns a run to which noise may have added part.
func explained(cpuTime, part int) Run {
	return Run{CPUTime: time.Duration(cpuTime) * ms, Explained: time.Duration(part) * ms}
}

// limit1s returns a rule with a guard band from 980 ms to 1020 ms.
func limit1s(policy api.Policy, least, most int) Rule {
	return Rule{Policy: policy, Limit: time.Second, Guard: Guard{Ratio: 0.02, Floor: 5 * ms}, Min: least, Max: most}
}

func TestDecide(t *testing.T) {
	ok := func(value int, statistic, by string, confidence api.Confidence) Decision {
		return Decision{Done: true, Value: time.Duration(value) * ms, Statistic: statistic, DecidedBy: by,
			Confidence: confidence}
	}
	over := func(value int, statistic, by string, confidence api.Confidence) Decision {
		d := ok(value, statistic, by, confidence)
		d.Over = true
		return d
	}
	more := Decision{}
	quiet := Decision{Next: Placement{Quiet: true}}
	elsewhere := Decision{Next: Placement{Quiet: true, OtherCore: true}}

	tests := []struct {
		name  string
		rule  Rule
		clean []Run
		want  Decision
	}{
		{"confirm: nothing measured", limit1s(api.Confirm, 0, 0), nil, more},
		{"confirm: within", limit1s(api.Confirm, 0, 0), took(900), ok(900, StatSingle, api.ByFirst, api.OneRun)},
		{"confirm: at the limit is within", limit1s(api.Confirm, 0, 0), took(1000),
			ok(1000, StatSingle, api.ByFirst, api.Borderline)},
		{"confirm: lower edge of the band", limit1s(api.Confirm, 0, 0), took(980),
			ok(980, StatSingle, api.ByFirst, api.OneRun)},
		{"confirm: just inside the band", limit1s(api.Confirm, 0, 0), took(981),
			ok(981, StatSingle, api.ByFirst, api.Borderline)},
		{"confirm: one over", limit1s(api.Confirm, 0, 0), took(1050), quiet},
		{"confirm: one far over", limit1s(api.Confirm, 0, 0), took(1271),
			over(1271, StatSingle, api.ByClear, api.OneRun)},
		{"confirm: not quite far", limit1s(api.Confirm, 0, 0), took(1270), quiet},
		{"confirm: far over, if noise added nothing", limit1s(api.Confirm, 0, 0), []Run{explained(1500, 230)}, quiet},
		{"confirm: far over, with any noise", limit1s(api.Confirm, 0, 0), []Run{explained(1500, 229)},
			over(1500, StatSingle, api.ByClear, api.OneRun)},
		{"confirm: the second far over", limit1s(api.Confirm, 0, 0), took(1010, 1300),
			over(1155, StatMedian, api.ByClear, api.Noisy)},
		{"confirm: a wide band, far is two of them", Rule{Limit: time.Second, Guard: Guard{Ratio: 0.2}}, took(1359),
			quiet},
		{"confirm: a wide band, far", Rule{Limit: time.Second, Guard: Guard{Ratio: 0.2}}, took(1361),
			over(1361, StatSingle, api.ByClear, api.OneRun)},
		{"confirm: a short limit, far is a third over it",
			Rule{Limit: 100 * ms, Guard: Guard{Ratio: 0.02, Floor: 5 * ms}}, took(131),
			over(131, StatSingle, api.ByClear, api.OneRun)},
		{"confirm: a short limit, not far", Rule{Limit: 100 * ms, Guard: Guard{Ratio: 0.02, Floor: 5 * ms}}, took(130),
			quiet},
		{"confirm: beyond the band, if noise added nothing", limit1s(api.Confirm, 0, 0),
			[]Run{explained(1040, 20), explained(1040, 20)}, elsewhere},
		{"confirm: two beyond the band", limit1s(api.Confirm, 0, 0), took(1050, 1060),
			over(1055, StatMedian, api.ByClear, api.Stable)},
		{"confirm: far over and noisy", limit1s(api.Confirm, 0, 0), took(1500, 2500),
			over(2000, StatMedian, api.ByClear, api.Noisy)},
		{"confirm: upper edge of the band is not clear", limit1s(api.Confirm, 0, 0), took(1020, 1020), elsewhere},
		{"confirm: one clear of two", limit1s(api.Confirm, 0, 0), took(1021, 1020), elsewhere},
		{"confirm: two clear of three", limit1s(api.Confirm, 0, 0), took(1021, 1019, 1021),
			over(1021, StatMedian, api.ByClear, api.Stable)},
		{"confirm: clear, median in the band", limit1s(api.Confirm, 3, 5), took(1010, 1010, 1010, 1021, 1021),
			over(1010, StatMedian, api.ByClear, api.Borderline)},
		{"confirm: one within forbids clear", limit1s(api.Confirm, 0, 0), took(1500, 900, 1500), elsewhere},
		{"confirm: quorum", limit1s(api.Confirm, 0, 0), took(1500, 990, 970),
			ok(990, StatSecondMin, api.ByQuorum, api.Borderline)},
		{"confirm: quorum at the last run", limit1s(api.Confirm, 0, 0), took(1500, 900, 1500, 1500, 950),
			ok(950, StatSecondMin, api.ByQuorum, api.Borderline)},
		{"confirm: majority in the band", limit1s(api.Confirm, 0, 0), took(1001, 1002, 1003, 1004),
			over(1002, StatSecondMin, api.ByMajority, api.Borderline)},
		{"confirm: majority at the upper edge of the band", limit1s(api.Confirm, 0, 0), took(1020, 1020, 1020, 1020),
			over(1020, StatSecondMin, api.ByMajority, api.Borderline)},
		{"confirm: majority with one within", limit1s(api.Confirm, 0, 0), took(1500, 900, 1500, 1500, 1400),
			over(1400, StatSecondMin, api.ByMajority, api.Borderline)},
		{"confirm: budget, over", limit1s(api.Confirm, 1, 3), took(1010, 900, 1015),
			over(1010, StatSecondMin, api.ByBudget, api.Borderline)},
		{"confirm: budget, all over", limit1s(api.Confirm, 1, 2), took(1010, 1015),
			over(1015, StatSecondMin, api.ByBudget, api.Borderline)},
		{"confirm: budget, tie", limit1s(api.Confirm, 1, 2), took(1500, 900),
			ok(900, StatMin, api.ByBudget, api.Borderline)},
		{"confirm: below min", limit1s(api.Confirm, 3, 5), took(900, 900), more},
		{"confirm: below min, one over", limit1s(api.Confirm, 3, 5), took(900, 1500), elsewhere},
		{"confirm: after four", limit1s(api.Confirm, 0, 0), took(1500, 900, 1500, 1500), elsewhere},
		{"confirm: min reached", limit1s(api.Confirm, 3, 5), took(900, 920, 910),
			ok(910, StatSecondMin, api.ByQuorum, api.Stable)},
		{"confirm: min reached, the first run does not outweigh the others", limit1s(api.Confirm, 3, 5),
			took(900, 1500, 1500), elsewhere},
		{"confirm: only max given", limit1s(api.Confirm, 0, 2), took(900),
			ok(900, StatSingle, api.ByFirst, api.OneRun)},
		{"confirm: max below min", limit1s(api.Confirm, 2, 1), took(900, 930),
			ok(915, StatMedian, api.ByFixed, api.Stable)},
		{"confirm is the default", limit1s("", 0, 0), took(1500, 1510),
			over(1505, StatMedian, api.ByClear, api.Stable)},

		{"fixed: one", limit1s(api.Confirm, 1, 1), took(1100), over(1100, StatSingle, api.ByFixed, api.OneRun)},
		{"fixed: not yet", limit1s(api.Confirm, 4, 4), took(1500, 1500, 1500), more},
		{"fixed: median over", limit1s(api.Confirm, 4, 4), took(900, 1500, 1500, 900),
			over(1200, StatMedian, api.ByFixed, api.Borderline)},
		{"fixed: median within", limit1s(api.Confirm, 3, 3), took(700, 500, 600),
			ok(600, StatMedian, api.ByFixed, api.Noisy)},
		{"fixed: more runs than asked for", limit1s(api.Confirm, 2, 2), took(500, 500, 500),
			ok(500, StatMedian, api.ByFixed, api.Stable)},

		{"single: within", limit1s(api.Single, 0, 0), took(900), ok(900, StatSingle, api.ByFirst, api.OneRun)},
		{"single: over", limit1s(api.Single, 0, 0), took(1001), over(1001, StatSingle, api.ByFirst, api.Borderline)},
		{"single: a fixed number", limit1s(api.Single, 3, 3), took(900, 900, 900),
			ok(900, StatMedian, api.ByFixed, api.Stable)},
		{"single: a range stops at min", limit1s(api.Single, 2, 5), took(1500, 1500),
			over(1500, StatMedian, api.ByFixed, api.Stable)},

		{"min: first", limit1s(api.Minimum, 0, 0), took(900), ok(900, StatMin, api.ByFirst, api.OneRun)},
		{"min: one over", limit1s(api.Minimum, 0, 0), took(1500), quiet},
		{"min: two over", limit1s(api.Minimum, 0, 0), took(1500, 1500), elsewhere},
		{"min: second", limit1s(api.Minimum, 0, 0), took(1500, 900), ok(900, StatMin, api.ByQuorum, api.Borderline)},
		{"min: never", limit1s(api.Minimum, 0, 0), took(1510, 1500, 1520),
			over(1500, StatMin, api.ByBudget, api.Stable)},
		{"min: below min", limit1s(api.Minimum, 2, 4), took(900), more},
		{"min: fixed", limit1s(api.Minimum, 2, 2), took(1500, 900), ok(900, StatMin, api.ByFixed, api.Borderline)},

		{"noise: 10 ms are not noise", limit1s(api.Confirm, 2, 2), took(1, 11),
			ok(6, StatMedian, api.ByFixed, api.Stable)},
		{"noise: 5 % are not noise", limit1s(api.Confirm, 2, 2), took(400, 420),
			ok(410, StatMedian, api.ByFixed, api.Stable)},
		{"noise: both", limit1s(api.Confirm, 2, 2), took(400, 421),
			ok(410, StatMedian, api.ByFixed, api.Noisy).plus(500 * time.Microsecond)},
		{"no limit", Rule{Guard: Guard{Ratio: 0.02, Floor: 5 * ms}, Min: 2, Max: 2}, took(400, 410),
			ok(405, StatMedian, api.ByFixed, api.Stable)},
		{"guard has a floor", Rule{Limit: 100 * ms, Guard: Guard{Ratio: 0.02, Floor: 5 * ms}}, took(105, 105),
			elsewhere},
		{"beyond the floor", Rule{Limit: 100 * ms, Guard: Guard{Ratio: 0.02, Floor: 5 * ms}}, took(106, 106),
			over(106, StatMedian, api.ByClear, api.Stable)},
		{"no guard", Rule{Limit: 100 * ms, Guard: Guard{Ratio: math.NaN(), Floor: -1}}, took(101, 101),
			over(101, StatMedian, api.ByClear, api.Stable)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given := slices.Clone(tt.clean)
			if diff := cmp.Diff(tt.want, tt.rule.Decide(tt.clean)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(given, tt.clean); diff != "" {
				t.Errorf("Decide changed its argument (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStopAt(t *testing.T) {
	for _, tt := range []struct{ limit, band, want int }{
		{1, 5, 101}, {300, 6, 400}, {1000, 20, 1300}, {1000, 150, 1300}, {1000, 200, 1400}, {10_000, 200, 13_000},
	} {
		r := Rule{Limit: time.Duration(tt.limit) * ms, Guard: Guard{Floor: time.Duration(tt.band) * ms}}
		if got := r.StopAt(); got != time.Duration(tt.want)*ms {
			t.Errorf("limit %d ms, band %d ms: stop at %s, want %d ms", tt.limit, tt.band, got, tt.want)
		}
	}
	for _, r := range []Rule{{}, {Limit: math.MaxInt64 - 1, Guard: Guard{Ratio: 9}}} {
		if got := r.StopAt(); got != math.MaxInt64 {
			t.Errorf("%+v: stop at %d, want never", r, got)
		}
	}
}

func TestMargin(t *testing.T) {
	tests := []struct {
		limit, value time.Duration
		want         float64
	}{
		{1000, 750, 0.25}, {1000, 1000, 0}, {1000, 1250, -0.25}, {0, 5, 0}, {-1, 5, 0},
	}
	for _, tt := range tests {
		if got := (Rule{Limit: tt.limit}).Margin(tt.value); got != tt.want {
			t.Errorf("limit %d, value %d: got %v, want %v", tt.limit, tt.value, got, tt.want)
		}
	}
}

func TestInGuardBand(t *testing.T) {
	r := Rule{Limit: 1000, Guard: Guard{Ratio: 0.02, Floor: 5}}
	got := map[time.Duration]bool{}
	for _, x := range []time.Duration{0, 980, 981, 1000, 1020, 1021} {
		got[x] = r.InGuardBand(x)
	}
	want := map[time.Duration]bool{0: false, 980: false, 981: true, 1000: true, 1020: true, 1021: false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (Rule{Limit: 1000, Guard: Guard{Ratio: math.NaN(), Floor: -1}}).Band(); got != 0 {
		t.Errorf("band %d of an invalid guard, want 0", got)
	}
	if (Rule{}).InGuardBand(math.MaxInt64 / 2) {
		t.Error("a time is near no limit")
	}
}

func (d Decision) plus(x time.Duration) Decision {
	d.Value += x
	return d
}

// TestDecideAgrees checks invariants of decisions for random rules and times: the value is that of the statistic and on
// the side of the limit that was decided for, and the maximum number of runs always decides.
func TestDecideAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	decided := map[string]int{}
	for range 200_000 {
		rule := randomRule(r)
		runs := max(5, rule.Min, rule.Max)
		clean := make([]Run, r.IntN(runs+1))
		for i := range clean {
			clean[i] = Run{CPUTime: max(rule.Limit, 40) + time.Duration(r.IntN(61)-30),
				Explained: time.Duration(r.IntN(10))}
		}

		d := rule.Decide(clean)
		if !d.Done {
			if len(clean) == runs {
				t.Fatalf("%+v on %v: not done after all runs", rule, clean)
			}
			if d != (Decision{Next: d.Next}) || d.Next.OtherCore && (!d.Next.Quiet || len(clean) < 2) {
				t.Fatalf("%+v on %v: not done, but %+v", rule, clean, d)
			}
			continue
		}
		decided[d.DecidedBy]++
		if d.Next != (Placement{}) {
			t.Fatalf("%+v on %v: done, and asks for a run %+v", rule, clean, d.Next)
		}
		if len(clean) < max(rule.Min, 1) {
			t.Fatalf("%+v on %v: done before the least number of runs", rule, clean)
		}
		if d.Over != (rule.Limit > 0 && d.Value > rule.Limit) {
			t.Fatalf("%+v on %v: over disagrees with the value: %+v", rule, clean, d)
		}
		if want := statistic(d.Statistic, clean); d.Value != want {
			t.Fatalf("%+v on %v: value is not the statistic %v: %+v", rule, clean, want, d)
		}
	}
	for _, by := range []string{api.ByFirst, api.ByFixed, api.ByQuorum, api.ByClear, api.ByMajority, api.ByBudget} {
		if decided[by] == 0 {
			t.Errorf("no random case was decided by %s: the test proves less than it says", by)
		}
	}
}

func randomRule(r *rand.Rand) Rule {
	pick := func(xs ...int) int { return xs[r.IntN(len(xs))] }
	return Rule{
		Policy: []api.Policy{api.Confirm, api.Single, api.Minimum, ""}[r.IntN(4)],
		Limit:  time.Duration(pick(0, 40, 1000, 1000, 1000)),
		Guard:  Guard{Ratio: float64(pick(0, 1, 2)) / 100, Floor: time.Duration(pick(0, 5, 15))},
		Min:    pick(0, 0, 1, 2, 3, 7),
		Max:    pick(0, 0, 1, 2, 3, 5, 9),
	}
}

// statistic computes a statistic by its definition, without optimization.
func statistic(name string, runs []Run) time.Duration {
	var sorted []time.Duration
	for _, run := range runs {
		sorted = append(sorted, run.CPUTime)
	}
	slices.Sort(sorted)
	switch n := len(sorted); name {
	case StatSecondMin:
		return sorted[1]
	case StatMedian:
		return (sorted[(n-1)/2] + sorted[n/2]) / 2
	case StatSingle:
		if n != 1 {
			return -1
		}
	}
	return sorted[0]
}

// TestDecideHugeTimes checks that the guard band does not overflow.
func TestDecideHugeTimes(t *testing.T) {
	for _, limit := range []time.Duration{1, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64} {
		for _, guard := range []float64{0, 0.02, 10, math.Inf(1), math.NaN(), -1} {
			rule := Rule{Limit: limit, Guard: Guard{Ratio: guard, Floor: math.MaxInt64}}
			for _, x := range []time.Duration{0, limit, math.MaxInt64} {
				d := rule.Decide([]Run{{CPUTime: x}, {CPUTime: x}, {CPUTime: x}, {CPUTime: x}, {CPUTime: x}})
				if !d.Done || d.Over != (x > limit) || d.DecidedBy == api.ByClear { // nothing is beyond this guard band
					t.Errorf("%+v on %d: %+v", rule, x, d)
				}
			}
		}
	}
}

// BenchmarkDecide measures the promise: below a microsecond, without allocations.
func BenchmarkDecide(b *testing.B) {
	rule := limit1s(api.Confirm, 0, 0)
	clean := took(1010, 1012, 900, 1013, 1011)
	b.ReportAllocs()
	for b.Loop() {
		if !rule.Decide(clean).Over {
			b.Fatal("within the limit")
		}
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	rule, clean := limit1s(api.Confirm, 0, 0), took(1010, 1012, 900, 1013, 1011)
	if n := testing.AllocsPerRun(100, func() { rule.Decide(clean) }); n != 0 {
		t.Errorf("Decide allocates %v times", n)
	}
}
