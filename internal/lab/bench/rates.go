package bench

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"judged/internal/api"
	"judged/internal/base/units"
)

// rate is the number of wrong verdicts among all.
type rate struct{ wrong, of, runs int }

func (r rate) String() string {
	if r.of == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", r.wrong, r.of)
}

func (r rate) percent() string {
	if r.of == 0 {
		return ""
	}
	return strconv.FormatFloat(100*float64(r.wrong)/float64(r.of), 'f', 1, 64) + " %"
}

// runsEach returns the number of runs per verdict.
func (r rate) runsEach() string {
	if r.of == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(r.runs)/float64(r.of), 'f', 2, 64)
}

// count counts the verdicts that wanted selects. If both verdicts are right, it counts only TLE at a ratio of 1. It
// ignores programs that were not calibrated.
func count(flips []Flip, wanted func(Flip) bool) rate {
	var r rate
	for _, f := range flips {
		if !wanted(f) || f.Uncalibrated || f.Either && f.Theta != 1 {
			continue
		}
		r.of++
		r.runs += f.Runs
		if f.Wrong || f.Theta == 1 && f.Verdict == api.TimeLimit {
			r.wrong++
		}
	}
	return r
}

var methods = []string{byFree, byPinned, byJudged, byQuiet}

// tellFlips adds the tables and the chart.
func (l *lab) tellFlips(d dose) {
	l.table(flipTable(l.result.Flips, d))
	l.table(flipSums(l.result.Flips))
	l.table(promises(l.result.Flips))
	l.table(driftTable(l.result.Flips, d))
	l.note("free and pinned are one run each; judged repeats near the limit (RUNS is how many a verdict took). Load is " +
		"on the neighbours' CPUs only.")
	l.note("judged: nobody can stop the load. judged-quiet: it is what other slots work on, and rests while a run over " +
		"the limit is confirmed, as judged has it in its own slots.")
	l.note("At 1.00 both verdicts are right: the column counts TLE, and the sums leave it out.")
	l.note("Programs are calibrated before they are judged next to a load, and measured again afterwards. Where one " +
		"has crossed the limit meanwhile its verdict does not count.")
	if left, wrong := uncalibrated(l.result.Flips); left > 0 {
		l.note("%d of %d verdicts are on programs that were more than %g %% off their distance before and after, and "+
			"count nowhere; %d of them are wrong.",
			left, len(l.result.Flips), 100*calibratedTo, wrong)
	}
	l.result.chart = flipChart(l.result, d)
}

// uncalibrated returns the number of verdicts that are ignored, and how many of them are wrong.
func uncalibrated(flips []Flip) (left, wrong int) {
	for _, f := range flips {
		if !f.Uncalibrated {
			continue
		}
		left++
		if f.Wrong {
			wrong++
		}
	}
	return left, wrong
}

func flipTable(flips []Flip, d dose) Table {
	t := Table{Title: fmt.Sprintf("Wrong verdicts at a part of the limit of %s", units.Duration(d.limit)),
		Columns: []string{"PROGRAM", "LOAD", "METHOD"}}
	for _, theta := range d.thetas {
		t.Columns = append(t.Columns, fmt.Sprintf("%.2f", theta))
	}
	t.Columns = append(t.Columns, "RUNS")
	for _, kind := range d.kinds {
		for _, load := range d.loads {
			for _, method := range methods {
				mine := func(f Flip) bool { return f.Program == kind && f.Load == load && f.Method == method }
				row := []string{kind, loadName(load), method}
				for _, theta := range d.thetas {
					row = append(row, count(flips, func(f Flip) bool { return mine(f) && f.Theta == theta }).String())
				}
				t.Rows = append(t.Rows, append(row, count(flips, mine).runsEach()))
			}
		}
	}
	return t
}

// flipSums returns the totals: all verdicts except those at the limit itself.
func flipSums(flips []Flip) Table {
	t := Table{Title: "In sum, without 1.00",
		Columns: []string{"METHOD", "WRONG", "RATE", "WRONG TLE", "WRONG AC", "RUNS"}}
	for _, method := range methods {
		mine := func(f Flip) bool { return f.Method == method && f.Theta != 1 }
		all := count(flips, mine)
		within := count(flips, func(f Flip) bool { return mine(f) && f.Theta < 1 })
		over := count(flips, func(f Flip) bool { return mine(f) && f.Theta > 1 })
		t.Rows = append(t.Rows, []string{method, all.String(), all.percent(), within.String(), over.String(),
			all.runsEach()})
	}
	return t
}

// loadName returns the name of a load for people.
func loadName(load string) string {
	return cmp.Or(strings.TrimPrefix(load, "load-"), "none")
}

// flipChart returns a chart of how far the deciding time was from the program's own.
func flipChart(r ExperimentResult, d dose) Chart {
	c := Chart{Title: r.Title, Subtitle: fmt.Sprintf("%d verdicts at each of %d distances from a limit of %s", r.N,
		len(d.thetas), units.Duration(d.limit)),
		Axis: "time that decided, % of the program's own in a quiet slot", Solid: "verdict", Hollow: "wrong verdict"}
	for _, kind := range d.kinds {
		for _, load := range d.loads {
			for _, method := range methods {
				lane := Lane{Name: kind[:3] + ", " + loadName(load) + ", " + method}
				sum := rate{}
				for _, f := range r.Flips {
					if f.Program != kind || f.Load != load || f.Method != method {
						continue
					}
					lane.Dots = append(lane.Dots, Dot{Value: 100 * float64(
						f.CPUTime) / (f.OwnBefore * float64(d.limit)), Hollow: f.Wrong})
					if f.counts() {
						sum.of++
						if f.Wrong {
							sum.wrong++
						}
					}
				}
				lane.Note = "wrong: " + sum.String()
				c.Lanes = append(c.Lanes, lane)
			}
		}
	}
	return c
}

// writeFlips writes one line per verdict.
func writeFlips(w io.Writer, flips []Flip) error {
	ratio := func(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }
	out := csv.NewWriter(w)
	lines := [][]string{{"round", "program", "limit_ratio", "own_before", "own_after", "load", "method", "verdict",
		"cpu_time_ns", "runs", "either", "wrong", "uncalibrated"}}
	for _, f := range flips {
		lines = append(lines, []string{strconv.Itoa(f.Round), f.Program, strconv.FormatFloat(f.Theta, 'f', 2, 64),
			ratio(f.OwnBefore), ratio(f.OwnAfter),
			loadName(f.Load), f.Method, string(f.Verdict), strconv.FormatInt(int64(f.CPUTime), 10),
			strconv.Itoa(f.Runs),
			strconv.FormatBool(f.Either), strconv.FormatBool(f.Wrong), strconv.FormatBool(f.Uncalibrated)})
	}
	return out.WriteAll(lines)
}
