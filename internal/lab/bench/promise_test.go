package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/sandbox/initproc"
)

// counted returns n flips, the first of which are wrong.
func counted(n, wrong int, f Flip) []Flip {
	all := make([]Flip, n)
	for i := range all {
		all[i] = f
		all[i].Wrong = i < wrong
	}
	return all
}

func TestPromises(t *testing.T) {
	const (
		at095 = "cpu-bound next to load at 0.95: judged wrong 0 of 100"
		at110 = "cpu-bound next to load at 1.10: judged wrong 0 of 100"
		tenth = "all cases but 1.00: judged wrong at most 0.1 times as often as a free run"
		quiet = "all cases but 1.00: judged-quiet wrong at most 0.1 times as often as a free run"
	)
	timed := func(theta string) string {
		return "memory-bound next to load-memory-at-times at " + theta +
			": judged wrong at most 0.1 times as often as a free run"
	}
	const timed110 = "memory-bound next to load-memory-at-times at 1.10: judged wrong 0 of 100"
	unknown := [][]string{{timed("0.90"), " of ", "undecided: no free run was wrong"},
		{timed("0.95"), " of ", "undecided: no free run was wrong"},
		{timed110, "", "too few to tell; -n 50 has enough"}}
	// atTimes returns flips of the memory-bound program next to the load that stops at times.
	atTimes := func(method string, theta float64, n, wrong int) []Flip {
		return counted(n, wrong, Flip{Program: "memory-bound", Load: initproc.LoadMemoryAtTimes, Theta: theta,
			Method: method})
	}
	quietly := counted(50, 2, Flip{Program: "memory-bound", Load: initproc.LoadMemory, Theta: 0.98, Method: byQuiet})
	// judged and free return flips of the CPU-bound program next to load.
	judged := func(theta float64, n, wrong int) []Flip {
		return counted(n, wrong, Flip{Program: "cpu-bound", Load: initproc.LoadCPU, Theta: theta, Method: byJudged})
	}
	free := func(n, wrong int) []Flip {
		return counted(n, wrong, Flip{Program: "memory-bound", Theta: 0.98, Method: byFree})
	}
	// Flips that no promise covers.
	rest := append(quietly, counted(9, 9, Flip{Program: "cpu-bound", Load: initproc.LoadCPU, Theta: 1, Either: true,
		Method: byJudged})...)
	rest = append(rest, counted(9, 9, Flip{Program: "cpu-bound", Theta: 0.95, Method: byPinned})...)
	for name, tt := range map[string]struct {
		flips [][]Flip
		want  [][]string
	}{
		"kept": {[][]Flip{judged(0.95, 100, 0), judged(1.10, 120, 0), free(110, 50)}, [][]string{
			{at095, "0 of 100", "kept"}, {at110, "0 of 120", "kept"}, {tenth, "0.0 % of 45.5 %: 0.000", "kept"},
			{quiet, "4.0 % of 45.5 %: 0.088", "kept"}}},
		"a tenth is kept": {[][]Flip{judged(0.95, 100, 1), judged(1.10, 100, 0), free(100, 5)}, [][]string{
			{at095, "1 of 100", "missed"}, {at110, "0 of 100", "kept"}, {tenth, "0.5 % of 5.0 %: 0.100", "kept"},
			{quiet, "4.0 % of 5.0 %: 0.800", "missed"}}},
		"more than a tenth": {[][]Flip{judged(0.95, 100, 0), judged(1.10, 100, 3), free(100, 10)}, [][]string{
			{at095, "0 of 100", "kept"}, {at110, "3 of 100", "missed"}, {tenth, "1.5 % of 10.0 %: 0.150", "missed"},
			{quiet, "4.0 % of 10.0 %: 0.400", "missed"}}},
		"too few": {[][]Flip{judged(0.95, 99, 0), judged(1.10, 40, 1), free(100, 0)}, [][]string{
			{at095, "0 of 99", "too few to tell; -n 50 has enough"}, {at110, "1 of 40", "missed"},
			{tenth, "0.7 % of 0.0 %", "undecided: no free run was wrong"},
			{quiet, "4.0 % of 0.0 %", "undecided: no free run was wrong"}}},
		"a load that works and rests": {[][]Flip{atTimes(byFree, 0.90, 100, 40), atTimes(byJudged, 0.90, 100, 4),
			atTimes(byFree, 0.95, 100, 50), atTimes(byJudged, 0.95, 100, 6),
			atTimes(byJudged, 1.10, 100, 0)}, [][]string{{at095, "", "too few to tell; -n 50 has enough"},
			{at110, "", "too few to tell; -n 50 has enough"},
			{tenth, "3.3 % of 45.0 %: 0.074", "kept"}, {quiet, "4.0 % of 45.0 %: 0.089", "kept"},
			{timed("0.90"), "4.0 % of 40.0 %: 0.100", "kept"}, {timed("0.95"), "6.0 % of 50.0 %: 0.120", "missed"},
			{timed110, "0 of 100", "kept"}}},
		"nothing": {nil, [][]string{
			{at095, "", "too few to tell; -n 50 has enough"}, {at110, "", "too few to tell; -n 50 has enough"},
			{tenth, " of ", "undecided: no free run was wrong"},
			{quiet, "4.0 % of ", "undecided: no free run was wrong"}}},
	} {
		t.Run(name, func(t *testing.T) {
			flips := rest
			for _, some := range tt.flips {
				flips = append(flips, some...)
			}
			if len(tt.want) == 4 {
				tt.want = append(tt.want, unknown...)
			}
			if diff := cmp.Diff(tt.want, promises(flips).Rows); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDriftTable checks that the table has one entry for every batch, and ignores flips at the limit and those of other
// programs.
func TestDriftTable(t *testing.T) {
	in := func(round int, load string, theta, before, after float64, either bool) Flip {
		return Flip{Program: "cpu-bound", Round: round, Load: load, Theta: theta, OwnBefore: theta * before,
			OwnAfter: theta * after, Either: either}
	}
	flips := []Flip{
		in(1, "", 0.9, 1, 1.01, false), in(1, "", 0.98, 1, 1.01, false), in(1, "", 1.02, 1, 1.01, false),
		in(1, initproc.LoadCPU, 0.98, 0.995, 0.995, false), in(2, "", 0.98, 1.005, 1.0653, true),
		in(2, "", 1, 2, 4, true),
		{Program: "cpu-bound", Round: 2, Theta: 0.9, OwnBefore: 0.9 * 1.005, OwnAfter: 0.9 * 1.0653,
			Uncalibrated: true},
		{Program: "memory-bound", Theta: 0.9, OwnBefore: 9, OwnAfter: 18, Either: true},
	}
	want := [][]string{{"cpu-bound", "99.5 % to 100.5 %", "1.0 %", "6.0 %", "1 of 6", "1 of 6"}}
	got := driftTable(flips, dose{kinds: []string{"cpu-bound", "none such"}})
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
