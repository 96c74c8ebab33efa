package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/lab/bench"
	"judged/internal/lab/experiment"
)

// Measured prints how much a program's time varies under each placement.
func Measured(w io.Writer, r bench.Result) error {
	var b strings.Builder
	if err := grid(&b, timesHead, timesRows(r.Cases)); err != nil {
		return err
	}
	b.WriteByte('\n')
	if err := grid(&b, witnessHead, witnessRows(r.Cases)); err != nil {
		return err
	}
	b.WriteByte('\n')
	if c := r.Comparison; c != nil {
		paragraph(&b, Printable(c.String()))
	}
	leftOut(&b, r.LeftOut)
	fmt.Fprintf(&b, "%d runs in each placement, in turns, seed %d\n", r.N, r.Seed)
	partialLine(&b, r)
	hostLine(&b, r.Host)
	_, err := io.WriteString(w, b.String())
	return err
}

var timesHead = []string{"PLACEMENT", "CPUS", "TIME", "MEDIAN", "SPREAD", "SIGMA", "CLEAN"}

func timesRows(cases []bench.Outcome) [][]string {
	var rows [][]string
	for _, o := range cases {
		first := []string{o.Case, o.Placement.CPUs}
		clean := fmt.Sprintf("%d of %d", o.Clean, len(o.Runs))
		for _, x := range []struct {
			name  string
			times *bench.Times
		}{{"user", o.UserTime}, {"CPU", o.CPUTime}, {"wall", o.WallTime}} {
			rows = append(rows, slices.Concat(first, []string{x.name}, timeCells(x.times), []string{clean}))
		}
	}
	return rows
}

func timeCells(t *bench.Times) []string {
	if t == nil {
		return []string{nothing, nothing, nothing}
	}
	return []string{units.Duration(t.Median), t.SpreadText(), Time(t.Sigma)}
}

// A cell below witnessHead with two figures has the median and the maximum of all
// runs.
var witnessHead = []string{"PLACEMENT", "RUN DELAY", "STEAL", "SLEEPS", "PREEMPTED", "MIGRATED", "MINOR FAULTS",
	"MAJOR FAULTS", "VERDICTS"}

func witnessRows(cases []bench.Outcome) [][]string {
	var rows [][]string
	for _, o := range cases {
		rows = append(rows, []string{o.Case, delays(o.RunDelay), delays(o.Steal), counts(o.VoluntarySwitches),
			counts(o.ForcedSwitches),
			counts(o.Migrations), counts(o.MinorFaults), counts(o.MajorFaults), Verdicts(o.Verdicts)})
	}
	return rows
}

func delays(t *bench.Times) string {
	if t == nil {
		return nothing
	}
	return medianAndMax(units.Duration(t.Median), units.Duration(t.Max))
}

func counts(c *bench.Counts) string {
	if c == nil {
		return nothing
	}
	return medianAndMax(strconv.FormatInt(c.Median, 10), strconv.FormatInt(c.Max, 10))
}

func medianAndMax(median, most string) string {
	if median == most {
		return median
	}
	return median + " .. " + most
}

// Verdicts counts runs by verdict.
func Verdicts(count map[api.Verdict]int) string {
	var parts []string
	for _, v := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
	}
	return strings.Join(parts, ", ")
}

// Experiment prints the results of an experiment next to the published ones.
func Experiment(w io.Writer, r experiment.Result) error {
	var b strings.Builder
	paragraph(&b, r.Title)
	b.WriteByte('\n')
	for _, t := range r.Tables {
		paragraph(&b, t.Title)
		if err := grid(&b, t.Columns, t.Rows); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	if r.Partial && r.Flips == nil {
		if err := grid(&b, timesHead, timesRows(r.Cases)); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	for _, n := range r.Notes {
		paragraph(&b, Printable(n))
	}
	leftOut(&b, r.LeftOut)
	fmt.Fprintf(&b, "%d runs of each, in turns, seed %d, scale %g\n", r.N, r.Seed, r.Scale)
	partialLine(&b, r.Result)
	hostLine(&b, r.Host)
	_, err := io.WriteString(w, b.String())
	return err
}

// partialLine prints how many runs an interrupted measurement has completed.
func partialLine(w io.Writer, r bench.Result) {
	if !r.Partial {
		return
	}
	runs := 0
	for _, o := range r.Cases {
		runs += len(o.Runs)
	}
	if runs == 0 {
		fmt.Fprintln(w, "partial: interrupted; only what was complete is counted")
		return
	}
	fmt.Fprintf(w, "partial: interrupted after %d runs\n", runs)
}

func leftOut(w io.Writer, list []bench.LeftOut) {
	for _, l := range list {
		paragraph(w, Printable(fmt.Sprintf("left out: %s: %s", l.ID, l.Reason)))
	}
}

func hostLine(w io.Writer, h *api.HostReport) {
	if h != nil {
		paragraph(w, Printable(Host(*h)))
	}
}

// Progress formats the progress of a measurement, with the remaining time at the current rate.
func Progress(done, total int, elapsed time.Duration, next string) string {
	if done == 0 {
		return next
	}
	text := fmt.Sprintf("%d of %d  %s", done, total, next)
	left := time.Duration(float64(elapsed) / float64(done) * float64(total-done))
	return text + "  " + left.Round(time.Second).String() + " left"
}
