package stats

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

// TestAgree checks that runs over a limit of a second count, although noise may explain each, once their agreement
// would be too improbable if noise had caused the excess.
func TestAgree(t *testing.T) {
	rule := limit1s(api.Confirm, 0, 0)
	// busy returns runs with these times, in tenths of a millisecond, of which noise explains at most a tenth.
	busy := func(times ...int) (runs []Run) {
		for _, x := range times {
			d := time.Duration(x) * ms / 10
			runs = append(runs, Run{CPUTime: d, Explained: d / 10})
		}
		return runs
	}
	measured := busy(10500, 10501, 10502, 10501)
	for i := range measured {
		measured[i].Measured = 50100 * time.Microsecond
	}
	stolen := busy(10500, 10510, 10505, 10501)
	stolen[1].Measured = 10 * ms
	slower := busy(10500, 10600, 10700, 10550)
	for i := range slower {
		slower[i].Measured = slower[i].CPUTime - 1040*ms
	}
	void := busy(10500, 10501, 10502)
	void[0].Void = true
	for _, tt := range []struct {
		name string
		runs []Run
		want bool
	}{
		{"one", busy(10500), false},
		{"two that are the same", busy(10500, 10500), true},
		{"two within 0.5 % of what they are over", busy(10500, 10502), true},
		{"two", busy(10500, 10503), false},
		{"three within 7 %", busy(10500, 10480, 10466), true},
		{"three", busy(10500, 10480, 10464), false},
		{"four within 17 %", busy(10500, 10415, 10450, 10480), true},
		{"four", busy(10500, 10414, 10450, 10480), false},
		{"one of them within the limit", busy(10500, 10501, 10502, 10000), false},
		{"close to the limit their own differences are as large", busy(10003, 10001, 10002, 10004), false},
		{"measured noise was the same in all", measured, false},
		{"stolen time that may not have been the run's", stolen, true},
		{"a slower CPU, and without that they agree", slower, true},
		{"one proves nothing", void, false},
	} {
		if got := rule.agree(tt.runs); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestWeigh checks which runs count, and what they decide.
func TestWeigh(t *testing.T) {
	over := func(x, explained int) Run {
		return Run{CPUTime: time.Duration(x) * ms, Explained: time.Duration(explained) * ms}
	}
	wall, fast := Run{CPUTime: 30 * ms, Void: true}, Run{CPUTime: 990 * ms, Saved: 20 * ms}
	type result struct {
		Over, Undecided bool
		By              string
		Confidence      api.Confidence
		Kept            []bool
	}
	for _, tt := range []struct {
		name string
		rule Rule
		runs []Run
		want result
	}{
		{"explained, then within", limit1s(api.Confirm, 0, 0), []Run{over(1050, 60), over(900, 60)},
			result{By: api.ByFirst, Confidence: api.OneRun, Kept: []bool{false, true}}},
		{"they agree", limit1s(api.Confirm, 0, 0), []Run{over(1050, 60), over(1051, 60), over(1052, 60)},
			result{Over: true, By: api.ByClear, Confidence: api.Stable, Kept: []bool{true, true, true}}},
		{"they differ", limit1s(api.Confirm, 0, 0),
			[]Run{over(1050, 60), over(1025, 60), over(1040, 60), over(1055, 60), over(1030, 60)},
			result{Undecided: true, Kept: make([]bool, 5)}},
		{"a proof among those that differ", limit1s(api.Confirm, 0, 0),
			[]Run{over(1050, 60), over(1025, 60), over(1040, 60), over(1090, 60), over(1030, 60)},
			result{Over: true, By: api.ByBudget, Confidence: api.Noisy, Kept: []bool{true, true, true, true, true}}},
		{"wall time, always explained", limit1s(api.Confirm, 0, 0), []Run{wall, wall, wall, wall},
			result{Undecided: true, Kept: make([]bool, 4)}},
		{"wall time, which a proof of CPU time outweighs", limit1s(api.Confirm, 0, 0),
			[]Run{wall, wall, over(1050, 0), wall},
			result{Over: true, By: api.ByBudget, Confidence: api.Noisy, Kept: []bool{false, false, true, false}}},
		{"always too fast", limit1s(api.Confirm, 0, 0), []Run{fast, fast, fast, fast},
			result{By: api.ByBudget, Confidence: api.Noisy, Kept: []bool{true, true, true, true}}},
		{"too fast outweighs what noise explains", limit1s(api.Confirm, 0, 0),
			[]Run{fast, over(1050, 60), fast, over(1050, 60)},
			result{By: api.ByBudget, Confidence: api.Noisy, Kept: []bool{true, false, true, false}}},
		{"a measurement", limit1s(api.Confirm, 3, 3), []Run{over(1050, 60), over(1010, 60), wall, over(1030, 60)},
			result{Over: true, By: api.ByFixed, Confidence: api.Stable, Kept: []bool{true, true, false, true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n := range len(tt.runs) - 1 {
				if w := tt.rule.Weigh(tt.runs[:n+1]); w.Done || w.Undecided {
					t.Errorf("after %d runs: %+v", n+1, w)
				}
			}
			w := tt.rule.Weigh(tt.runs)
			got := result{w.Over, w.Undecided, w.DecidedBy, w.Confidence, w.Kept}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
