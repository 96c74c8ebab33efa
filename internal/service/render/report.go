package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
)

// Report prints a report.
func Report(w io.Writer, r api.Report) error {
	_, err := io.WriteString(w, report(text.ScreenOf(w), r))
	return err
}

func report(s text.Screen, r api.Report) string {
	var b strings.Builder
	if len(r.Tests) > 0 {
		b.WriteString(testTable(r.Tests).Format(s) + "\n")
	}
	if len(r.Groups) > 0 {
		b.WriteString(groupTable(r.Groups).Format(s) + "\n")
	}
	paragraph(&b, s, verdictLine(r))
	if r.Message != "" {
		paragraph(&b, s, r.Message)
	}
	if c := r.Compilation; c != nil && (r.Verdict == api.CompileError || c.Program != "") && c.Output != "" {
		for line := range strings.SplitSeq(c.Output, "\n") {
			fmt.Fprintf(&b, "  %s\n", Printable(line))
		}
	}
	stderr(&b, s, r)
	if line := disturbedLine(r.Tests); line != "" {
		paragraph(&b, s, line)
	}
	if r.Host != nil {
		paragraph(&b, s, Host(*r.Host))
	}
	return b.String()
}

func testTable(tests []api.TestReport) text.Table {
	t := text.Table{Columns: []text.Column{{Head: "TEST"}, {Head: "VERDICT"}, {Head: "CPU TIME"}, {Head: "LIMIT", Rank: 2},
		{Head: "MARGIN", Rank: 1}, {Head: "WALL TIME", Rank: 3}, {Head: "MEMORY", Rank: 4}, {Head: "RUNS", Rank: 5}}}
	for _, x := range tests {
		t.Rows = append(t.Rows, text.Row{Notes: TestNotes(x), Cells: []string{x.Name, string(x.Verdict), Time(x.CPUTime),
			Limit(x.Timing), Margin(x.Timing), Time(x.WallTime), Bytes(x.MemoryPeak), Runs(x.Runs)}})
	}
	return t
}

func groupTable(groups []api.GroupReport) text.Table {
	t := text.Table{Columns: []text.Column{{Head: "GROUP"}, {Head: "VERDICT"}, {Head: "SCORE"}, {Head: "OF", Rank: 1}}}
	for _, g := range groups {
		t.Rows = append(t.Rows, text.Row{Cells: []string{g.Name, string(g.Verdict), Score(g.Score), Score(g.MaxScore)}})
	}
	return t
}

// Score prints points.
func Score(points *float64) string {
	if points == nil {
		return nothing
	}
	return fmt.Sprintf("%g", *points)
}

// TestNotes explains why a test failed, and how reliable its time is.
func TestNotes(x api.TestReport) []string {
	var notes []string
	if n := Note(x); n != "" {
		notes = append(notes, n)
	}
	if c := x.Checker; c != nil && c.TeamMessage != "" && x.Verdict != api.Accepted {
		notes = append(notes, "for the contestant: "+c.TeamMessage)
	}
	if len(x.Passes) > 0 {
		notes = append(notes, passesNote(x))
	}
	if len(x.Instances) > 0 {
		notes = append(notes, instancesNote(x.Instances))
	}
	return append(notes, RunNotes(x.Runs, x.Timing)...)
}

// passesNote lists the passes of a test, and names the one that the row shows.
func passesNote(x api.TestReport) string {
	var passes []string
	for _, p := range x.Passes {
		passes = append(passes, string(p.Verdict)+" "+Time(p.CPUTime))
	}
	return fmt.Sprintf("pass %d of %d: %s", x.Pass, len(passes), strings.Join(passes, ", "))
}

// RunNotes explains which runs of a test count and why, how much they differ, and what disturbed them. A single run
// that counts has no notes.
func RunNotes(runs []api.Run, t *api.Timing) []string {
	var notes []string
	if kept := Kept(runs); kept != "" {
		notes = append(notes, kept)
	}
	if spread := Spread(t); spread != nothing {
		notes = append(notes, "spread "+spread)
	}
	if causes := Causes(runs); causes != nothing && len(runs) > 1 {
		notes = append(notes, "disturbed by "+causes)
	}
	return notes
}

// disturbedLine summarizes what disturbed the runs of a job.
func disturbedLine(tests []api.TestReport) string {
	var all []api.Run
	disturbed := 0
	for _, x := range tests {
		all = append(all, x.Runs...)
		for _, r := range x.Runs {
			if len(r.Disturbed) > 0 {
				disturbed++
			}
		}
	}
	if disturbed == 0 || len(tests) == 1 && len(all) > 1 { // RunNotes has already reported it
		return ""
	}
	return fmt.Sprintf("%d of %d runs were disturbed: %s (see judged help causes)", disturbed, len(all), Causes(all))
}

func verdictLine(r api.Report) string {
	parts := []string{string(cmp.Or(string(r.Verdict), string(r.State)))}
	if r.Fault != "" {
		parts = append(parts, "fault: "+string(r.Fault))
	}
	if r.Score != nil {
		parts = append(parts, fmt.Sprintf("score %g", *r.Score))
	}
	if r.CPUTime != nil {
		parts = append(parts, "CPU time "+units.Duration(*r.CPUTime))
	}
	if r.MemoryPeak != nil {
		parts = append(parts, "memory "+units.Round(*r.MemoryPeak))
	}
	if r.Deterministic != nil && !*r.Deterministic {
		parts = append(parts, "not deterministic: repeats gave different results")
	}
	return strings.Join(parts, ", ")
}

// Host summarizes in one line how reliable the host's times are.
func Host(h api.HostReport) string {
	fit := "the host is fit to judge"
	if h.Doctor != nil && !h.Doctor.Ready {
		fit = fmt.Sprintf("the host is not fit to judge: %s (see judged doctor)", strings.Join(h.Doctor.Failed, ", "))
	}
	return fmt.Sprintf("isolation %s, turbo %s; %s", h.Isolation, h.Turbo, fit)
}
