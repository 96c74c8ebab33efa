package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
)

// column is one column of the CSV.
type column struct {
	name string
	cell func(o Outcome, r Run) string
}

// columns are the columns of the CSV. A value that a run did not report is empty.
var columns = []column{
	{"case", func(o Outcome, _ Run) string { return o.Case }},
	{"placement", func(o Outcome, _ Run) string { return o.Placement.ID }},
	{"round", func(_ Outcome, r Run) string { return strconv.Itoa(r.Round) }},
	{"turn", func(_ Outcome, r Run) string { return strconv.Itoa(r.Turn) }},
	{"cpus", func(_ Outcome, r Run) string { return r.CPUs }},
	{"verdict", func(_ Outcome, r Run) string { return string(r.Verdict) }},
	{"cpu_time_ns", func(_ Outcome, r Run) string { return number(&r.CPUTime) }},
	{"user_time_ns", func(_ Outcome, r Run) string { return number(r.UserTime) }},
	{"system_time_ns", func(_ Outcome, r Run) string { return number(r.SystemTime) }},
	{"wall_time_ns", func(_ Outcome, r Run) string { return number(&r.WallTime) }},
	{"memory_peak_bytes", func(_ Outcome, r Run) string { return number(r.MemoryPeak) }},
	{"run_delay_ns", func(_ Outcome, r Run) string { return number(r.Evidence.RunDelay) }},
	{"foreign_time_ns", func(_ Outcome, r Run) string { return number(r.Evidence.ForeignTime) }},
	{"steal_time_ns", func(_ Outcome, r Run) string { return number(r.Evidence.StealTime) }},
	{"voluntary_switches", func(_ Outcome, r Run) string { return number(r.Evidence.VoluntarySwitches) }},
	{"involuntary_switches", func(_ Outcome, r Run) string { return number(r.Evidence.InvoluntarySwitches) }},
	{"migrations", func(_ Outcome, r Run) string { return number(r.Evidence.Migrations) }},
	{"minor_faults", func(_ Outcome, r Run) string { return number(r.Evidence.MinorFaults) }},
	{"major_faults", func(_ Outcome, r Run) string { return number(r.Evidence.MajorFaults) }},
	{"disturbed", func(_ Outcome, r Run) string { return text.Join(r.Disturbed, " ") }},
}

func number[T ~int64](v *T) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(int64(*v), 10)
}

// WriteCSV writes one line per run.
func (r Result) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.name
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for _, o := range r.Cases {
		for _, run := range o.Runs {
			for i, c := range columns {
				line[i] = c.cell(o, run)
			}
			if err := out.Write(line); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// Chart returns a chart of the CPU time of every run, with a lane for each case.
func (r Result) Chart() Chart {
	return r.ChartOf("CPU time", func(r api.Run) time.Duration { return r.CPUTime })
}

// ChartOf returns a chart of a time of every run, with a lane for each case.
func (r Result) ChartOf(what string, of func(api.Run) time.Duration) Chart {
	c := Chart{Title: r.Title, Subtitle: fmt.Sprintf("%d runs of each, in turns", r.N), Axis: what + ", ms",
		Source: r.Source()}
	for _, o := range r.Cases {
		c.Lanes = append(c.Lanes, lane(o, of))
	}
	return c
}

// lane returns a lane of times in milliseconds, with their spread as its note.
func lane(o Outcome, of func(api.Run) time.Duration) Lane {
	lane := Lane{Name: o.Case}
	var all []time.Duration
	for _, r := range o.Runs {
		all = append(all, of(r.Run))
		lane.Dots = append(lane.Dots, Dot{Value: milliseconds(of(r.Run)), Hollow: len(r.Disturbed) > 0})
	}
	if t := Describe(all); t != nil {
		lane.Note = "spread " + t.SpreadText()
	}
	return lane
}

// SpreadText returns the spread as text for people.
func (t *Times) SpreadText() string {
	if t.SpreadRatio == nil {
		return units.Duration(t.Spread)
	}
	return fmt.Sprintf("%s (%.1f %%)", units.Duration(t.Spread), 100**t.SpreadRatio)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
