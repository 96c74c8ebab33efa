package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"judged/internal/sandbox/initproc"
)

const (
	promisedOf   = 100 // verdicts
	promisedPart = 0.1 // fraction of the wrong verdicts of a free run that may remain
)

// promises compares the figures with judged's promises. A promise that was measured too rarely does not count as kept.
func promises(flips []Flip) Table {
	t := Table{Title: "What is promised, and what was found", Columns: []string{"PROMISE", "FOUND", ""}}
	for _, theta := range []float64{0.95, 1.10} {
		r := count(flips, func(f Flip) bool {
			return f.Program == "cpu-bound" && f.Load != "" && f.Method == byJudged && f.Theta == theta
		})
		t.Rows = append(t.Rows, []string{fmt.Sprintf("cpu-bound next to load at %.2f: judged wrong 0 of %d", theta,
			promisedOf), r.String(), never(r)})
	}
	all := func(method string) rate {
		return count(flips, func(f Flip) bool { return f.Method == method && f.Theta != 1 })
	}
	for _, method := range []string{byJudged, byQuiet} {
		found, kept := seldom(all(method), all(byFree))
		t.Rows = append(t.Rows, []string{fmt.Sprintf(
			"all cases but 1.00: %s wrong at most %g times as often as a free run", method, promisedPart), found, kept})
	}
	for _, theta := range []float64{0.90, 0.95, 1.10} {
		at := func(method string) rate {
			return count(flips, func(f Flip) bool {
				return f.Program == "memory-bound" && f.Load == initproc.LoadMemoryAtTimes && f.Method == method &&
					f.Theta == theta
			})
		}
		if theta > 1 {
			r := at(byJudged)
			t.Rows = append(t.Rows, []string{fmt.Sprintf("memory-bound next to %s at %.2f: judged wrong 0 of %d",
				initproc.LoadMemoryAtTimes, theta, promisedOf), r.String(), never(r)})
			continue
		}
		found, kept := seldom(at(byJudged), at(byFree))
		t.Rows = append(t.Rows, []string{fmt.Sprintf(
			"memory-bound next to %s at %.2f: judged wrong at most %g times as often as a free run",
			initproc.LoadMemoryAtTimes, theta, promisedPart), found, kept})
	}
	return t
}

// never returns whether the promise that no verdict is wrong is kept.
func never(r rate) string {
	switch {
	case r.wrong > 0:
		return "missed"
	case r.of < promisedOf:
		return fmt.Sprintf("too few to tell; -n %d has enough", promisedOf/2)
	}
	return "kept"
}

// seldom returns whether the promise that few verdicts are wrong is kept.
func seldom(judged, free rate) (found, kept string) {
	if judged.of == 0 || free.wrong == 0 {
		return judged.percent() + " of " + free.percent(), "undecided: no free run was wrong"
	}
	times := float64(judged.wrong*free.of) / float64(judged.of*free.wrong)
	found = fmt.Sprintf("%s of %s: %.3f", judged.percent(), free.percent(), times)
	if times > promisedPart {
		return found, "missed"
	}
	return found, "kept"
}

// driftTable returns a table of how far the programs' own times changed while verdicts were counted.
func driftTable(flips []Flip, d dose) Table {
	t := Table{Title: "What a program takes alone in the slot, that was calibrated to the limit",
		Columns: []string{"PROGRAM", "BEFORE", "MOVED MEANWHILE, MEDIAN", "MOST", "CROSSED", "UNCALIBRATED"}}
	for _, kind := range d.kinds {
		type batch struct {
			round int
			load  string
		}
		before, moved := map[batch]float64{}, map[batch]float64{}
		var crossed, off rate
		for _, f := range flips {
			if f.Program != kind || f.Theta == 1 {
				continue
			}
			before[batch{f.Round, f.Load}] = f.OwnBefore / f.Theta
			moved[batch{f.Round, f.Load}] = math.Abs(f.OwnAfter/f.OwnBefore - 1)
			crossed.of++
			off.of++
			if f.Either {
				crossed.wrong++
			}
			if f.Uncalibrated {
				off.wrong++
			}
		}
		if crossed.of == 0 {
			continue
		}
		b, m := slices.Sorted(maps.Values(before)), slices.Sorted(maps.Values(moved))
		t.Rows = append(t.Rows, []string{kind, fmt.Sprintf("%.1f %% to %.1f %%", 100*b[0], 100*b[len(b)-1]),
			fmt.Sprintf("%.1f %%", 100*middle(m)), fmt.Sprintf("%.1f %%", 100*m[len(m)-1]), crossed.String(),
			off.String()})
	}
	return t
}
