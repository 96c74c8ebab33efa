package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"judged/internal/base/job"
	"judged/internal/base/units"
)

// Report prints a report.
func Report(w io.Writer, r job.Report) error {
	var b strings.Builder
	if len(r.Tests) > 0 {
		if err := Grid(&b, testHead, testRows(r.Tests)); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	paragraph(&b, Printable(verdictLine(r)))
	if r.Message != "" {
		paragraph(&b, Printable(r.Message))
	}
	if line := disturbedLine(r.Tests); line != "" {
		paragraph(&b, Printable(line))
	}
	if r.Host != nil {
		paragraph(&b, Printable(Host(*r.Host)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var testHead = []string{"TEST", "VERDICT", "CPU TIME", "LIMIT", "MARGIN", "WALL TIME", "MEMORY", "RUNS"}

func testRows(tests []job.TestReport) []Row {
	var rows []Row
	for _, x := range tests {
		row := Row{Cells: []string{x.Name, string(x.Verdict), Time(x.CPUTime), Limit(x.Timing), Margin(x.Timing), Time(x.WallTime), Bytes(x.MemoryPeak), Runs(x.Runs)}}
		for i, c := range row.Cells {
			// What is not printable would part cells and lines, too.
			row.Cells[i] = Printable(c)
		}
		for _, n := range testNotes(x) {
			row.Notes = append(row.Notes, Printable(n))
		}
		rows = append(rows, row)
	}
	return rows
}

// testNotes are the remarks about a test: why it failed, and how far its time
// can be trusted.
func testNotes(x job.TestReport) []string {
	var notes []string
	if n := Note(x); n != "" {
		notes = append(notes, n)
	}
	return append(notes, RunNotes(x.Runs, x.Timing)...)
}

// RunNotes says which runs of a test count and why, how far apart they are, and
// what disturbed them. Of a single run that counts there is nothing to say.
func RunNotes(runs []job.Run, t *job.Timing) []string {
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

// disturbedLine sums up what disturbed the runs of a job.
func disturbedLine(tests []job.TestReport) string {
	var all []job.Run
	disturbed := 0
	for _, x := range tests {
		all = append(all, x.Runs...)
		for _, r := range x.Runs {
			if len(r.Disturbed) > 0 {
				disturbed++
			}
		}
	}
	if disturbed == 0 || len(tests) == 1 && len(all) > 1 { // RunNotes has said it
		return ""
	}
	return fmt.Sprintf("%d of %d runs were disturbed: %s (see judged help causes)", disturbed, len(all), Causes(all))
}

func verdictLine(r job.Report) string {
	parts := []string{string(cmp.Or(string(r.Verdict), string(r.State)))}
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
		parts = append(parts, "repeats did not agree: not deterministic")
	}
	return strings.Join(parts, ", ")
}

// Host is one line about how far the host's times can be trusted.
func Host(h job.Host) string {
	fit := "the host is fit to judge"
	if h.Doctor != nil && !h.Doctor.Ready {
		fit = fmt.Sprintf("this host is not fit for times that decide: %s (see judged doctor)", strings.Join(h.Doctor.Failed, ", "))
	}
	return fmt.Sprintf("isolation %s, turbo %s; %s", h.Isolation, h.Turbo, fit)
}
