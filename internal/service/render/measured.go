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
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/lab/bench"
)

// Measured prints how much a program's time varies under each placement.
func Measured(w io.Writer, r bench.Result) error {
	_, err := io.WriteString(w, measured(text.ScreenOf(w), r))
	return err
}

func measured(s text.Screen, r bench.Result) string {
	var b strings.Builder
	b.WriteString(timesTable(r.Cases).Format(s) + "\n")
	b.WriteString(witnessTable(r.Cases).Format(s) + "\n")
	if c := r.Comparison; c != nil {
		paragraph(&b, s, c.String())
	}
	leftOut(&b, s, r.LeftOut)
	fmt.Fprintf(&b, "%d runs in each placement, in turns, seed %d\n", r.N, r.Seed)
	partialLine(&b, r)
	hostLine(&b, s, r.Host)
	return b.String()
}

func timesTable(cases []bench.Outcome) text.Table {
	t := text.Table{Columns: []text.Column{{Head: "PLACEMENT"}, {Head: "CPUS", Rank: 2}, {Head: "TIME"}, {Head: "MEDIAN"},
		{Head: "SPREAD"}, {Head: "SIGMA", Rank: 1}, {Head: "CLEAN", Rank: 3}}}
	for _, o := range cases {
		first := []string{o.Case, o.Placement.CPUs}
		clean := fmt.Sprintf("%d of %d", o.Clean, len(o.Runs))
		for _, x := range []struct {
			name  string
			times *bench.Times
		}{{"user", o.UserTime}, {"CPU", o.CPUTime}, {"wall", o.WallTime}} {
			t.Rows = append(t.Rows, text.Row{
				Cells: slices.Concat(first, []string{x.name}, timeCells(x.times), []string{clean})})
		}
	}
	return t
}

func timeCells(t *bench.Times) []string {
	if t == nil {
		return []string{nothing, nothing, nothing}
	}
	return []string{units.Duration(t.Median), t.SpreadText(), Time(t.Sigma)}
}

// witnessTable returns a table of what disturbs runs. A cell with two figures has the median and the maximum of all
// runs.
func witnessTable(cases []bench.Outcome) text.Table {
	t := text.Table{Columns: []text.Column{{Head: "PLACEMENT"}, {Head: "VERDICTS"}, {Head: "RUN DELAY", Rank: 1},
		{Head: "STEAL", Rank: 2}, {Head: "SLEEPS", Rank: 5}, {Head: "PREEMPTED", Rank: 3}, {Head: "MIGRATED", Rank: 4},
		{Head: "MINOR FAULTS", Rank: 6}, {Head: "MAJOR FAULTS", Rank: 7}}}
	for _, o := range cases {
		t.Rows = append(t.Rows, text.Row{Cells: []string{o.Case, Verdicts(o.Verdicts), delays(o.RunDelay),
			delays(o.Steal), counts(o.VoluntarySwitches), counts(o.ForcedSwitches), counts(o.Migrations),
			counts(o.MinorFaults), counts(o.MajorFaults)}})
	}
	return t
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
func Experiment(w io.Writer, r bench.ExperimentResult) error {
	_, err := io.WriteString(w, results(text.ScreenOf(w), r))
	return err
}

func results(s text.Screen, r bench.ExperimentResult) string {
	var b strings.Builder
	paragraph(&b, s, r.Title)
	b.WriteByte('\n')
	for _, t := range r.Tables {
		paragraph(&b, s, t.Title)
		b.WriteString(resultTable(t).Format(s) + "\n")
	}
	if r.Partial && r.Flips == nil {
		b.WriteString(timesTable(r.Cases).Format(s) + "\n")
	}
	for _, n := range r.Notes {
		paragraph(&b, s, n)
	}
	leftOut(&b, s, r.LeftOut)
	fmt.Fprintf(&b, "%d runs of each, in turns, seed %d, scale %g\n", r.N, r.Seed, r.Scale)
	partialLine(&b, r.Result)
	hostLine(&b, s, r.Host)
	return b.String()
}

// resultTable returns a table whose rightmost columns are omitted first.
func resultTable(t bench.Table) text.Table {
	var table text.Table
	for i, head := range t.Columns {
		table.Columns = append(table.Columns, text.Column{Head: head, Rank: i})
	}
	for _, cells := range t.Rows {
		table.Rows = append(table.Rows, text.Row{Cells: cells})
	}
	return table
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

func leftOut(w io.Writer, s text.Screen, list []bench.LeftOut) {
	for _, l := range list {
		paragraph(w, s, fmt.Sprintf("left out: %s: %s", l.ID, l.Reason))
	}
}

func hostLine(w io.Writer, s text.Screen, h *api.HostReport) {
	if h != nil {
		paragraph(w, s, Host(*h))
	}
}

// Progress formats the progress of a measurement, with the remaining time at the current rate.
func Progress(done, total int, elapsed time.Duration, next string) string {
	if done == 0 {
		return next
	}
	left := time.Duration(float64(elapsed) / float64(done) * float64(total-done))
	return fmt.Sprintf("%d of %d  %s  %s left", done, total, next, left.Round(time.Second))
}
