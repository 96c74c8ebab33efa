package render

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/lab/bench"
)

func TestMeasured(t *testing.T) {
	const ms = time.Millisecond
	times := func(median, spread time.Duration) *bench.Times {
		return &bench.Times{N: 2, Median: median, Max: median + spread, Spread: spread,
			SpreadRatio: new(float64(spread) / float64(median)), Sigma: new(spread / 2)}
	}
	r := bench.Result{
		N: 2, Seed: 7,
		Cases: []bench.Outcome{
			{Case: "free", Placement: bench.Placement{CPUs: "0-1"}, Runs: make([]bench.Run, 2), Summary: bench.Summary{
				Clean: 1, Verdicts: map[api.Verdict]int{api.Accepted: 1, api.RuntimeError: 1},
				UserTime: times(90*ms, 9*ms), CPUTime: times(100*ms, 10*ms),
				WallTime: times(200*ms, 50*ms), RunDelay: times(ms, 2*ms),
				VoluntarySwitches: &bench.Counts{N: 2, Median: 4, Max: 4}}},
			{Case: "slot", Placement: bench.Placement{CPUs: "1"}, Runs: make([]bench.Run, 2), Summary: bench.Summary{
				Clean: 2, Verdicts: map[api.Verdict]int{api.Accepted: 2}, CPUTime: times(100*ms, 0),
				WallTime: times(100*ms, 0)}},
		},
		LeftOut: []bench.LeftOut{{ID: "turbo-off", Reason: "no switch"}},
	}
	want := `PLACEMENT  CPUS  TIME  MEDIAN    SPREAD            SIGMA    CLEAN
free       0-1   user  90.0 ms   9.0 ms (10.0 %)   4.5 ms   1 of 2
free       0-1   CPU   100.0 ms  10.0 ms (10.0 %)  5.0 ms   1 of 2
free       0-1   wall  200.0 ms  50.0 ms (25.0 %)  25.0 ms  1 of 2
slot       1     user  -         -                 -        2 of 2
slot       1     CPU   100.0 ms  0 s (0.0 %)       0 s      2 of 2
slot       1     wall  100.0 ms  0 s (0.0 %)       0 s      2 of 2

PLACEMENT  VERDICTS     RUN DELAY         STEAL  SLEEPS  PREEMPTED  MIGRATED
free       1 AC, 1 RTE  1.0 ms .. 3.0 ms  -      4       -          -
slot       2 AC         -                 -      -       -          -
(no room for MINOR FAULTS, MAJOR FAULTS)

left out: turbo-off: no switch
2 runs in each placement, in turns, seed 7
`
	if diff := cmp.Diff(want, measured(text.Screen{Width: text.PageWidth}, r)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestExperiment(t *testing.T) {
	r := bench.ExperimentResult{
		Scale: 0.5, Result: bench.Result{Title: "t", N: 3, Seed: 1,
			LeftOut: []bench.LeftOut{{ID: "slot of 2", Reason: "too few CPUs"}}},
		Tables: []bench.Table{{Title: "a table", Columns: []string{"A", "B", "C"},
			Rows: [][]string{{"1", "", "3"}, {"22"}}}},
		Notes: []string{"a\x1bnote"},
	}
	want := `t

a table
A   B  C
1   -  3
22  -  -

a` + Printable("\x1b") + `note
left out: slot of 2: too few CPUs
3 runs of each, in turns, seed 1, scale 0.5
`
	if diff := cmp.Diff(want, results(text.Screen{}, r)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		done, total int
		want        string
	}{{0, 10, "slot"}, {2, 10, "2 of 10  slot  40s left"}, {10, 10, "10 of 10  slot  0s left"}} {
		if got := Progress(tt.done, tt.total, 10*time.Second, "slot"); got != tt.want {
			t.Errorf("%d of %d: got %q, want %q", tt.done, tt.total, got, tt.want)
		}
	}
}
