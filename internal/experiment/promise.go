package experiment

import "fmt"

const (
	promisedOf   = 100 // verdicts
	promisedPart = 0.1 // of the wrong verdicts of a free run may be left
)

// promises holds the figures against what judged promises. What was measured
// too seldom to tell is no promise kept.
func promises(flips []Flip) Table {
	t := Table{Title: "What is promised, and what was found", Columns: []string{"PROMISE", "FOUND", ""}}
	for _, theta := range []float64{0.95, 1.10} {
		r := count(flips, func(f Flip) bool {
			return f.Program == "cpu-bound" && f.Load != "" && f.Method == byJudged && f.Theta == theta
		})
		t.Rows = append(t.Rows, []string{fmt.Sprintf("cpu-bound beside load at %.2f: judged wrong 0 of %d", theta, promisedOf), r.String(), never(r)})
	}
	all := func(method string) rate {
		return count(flips, func(f Flip) bool { return f.Method == method && f.Theta != 1 })
	}
	found, kept := seldom(all(byJudged), all(byFree))
	t.Rows = append(t.Rows, []string{fmt.Sprintf("all cases but 1.00: judged wrong at most %g times as often as a free run", promisedPart), found, kept})
	return t
}

// never says what became of the promise that no verdict is wrong.
func never(r rate) string {
	switch {
	case r.wrong > 0:
		return "missed"
	case r.of < promisedOf:
		return fmt.Sprintf("too few to tell; -n %d has enough", promisedOf/2)
	}
	return "kept"
}

// seldom says what became of the promise that few are.
func seldom(judged, free rate) (found, kept string) {
	if judged.of == 0 || free.wrong == 0 {
		return judged.percent() + " of " + free.percent(), "cannot be told: no free run was wrong"
	}
	times := float64(judged.wrong*free.of) / float64(judged.of*free.wrong)
	found = fmt.Sprintf("%s of %s: %.3f", judged.percent(), free.percent(), times)
	if times > promisedPart {
		return found, "missed"
	}
	return found, "kept"
}

// tellDrift adds what the figures have to be read with.
func (l *lab) tellDrift(subjects []subject, before, after []float64) {
	l.table(driftTable(subjects, before, after))
	for i, s := range subjects {
		if most := max(before[i], after[i]); most > 1+l.result.Guard.Ratio {
			l.note("%s: its own time, with nothing beside it, moved by more than the guard band, to %.2f of the limit: its wrong verdicts below 1.00 count that as well.", s.kind, most)
		}
	}
}

// driftTable tells how far the truth has moved while verdicts were counted.
func driftTable(subjects []subject, before, after []float64) Table {
	t := Table{Title: "What the program calibrated to the limit takes of it, alone in the slot", Columns: []string{"PROGRAM", "BEFORE", "AFTER", "DRIFT"}}
	for i, s := range subjects {
		t.Rows = append(t.Rows, []string{s.kind, fmt.Sprintf("%.1f %%", 100*before[i]), fmt.Sprintf("%.1f %%", 100*after[i]), fmt.Sprintf("%+.1f %%", 100*(after[i]/before[i]-1))})
	}
	return t
}
