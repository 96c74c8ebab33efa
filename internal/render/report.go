package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"judged/internal/job"
	"judged/internal/units"
)

// Report prints a report.
func Report(w io.Writer, r job.Report) error {
	var b strings.Builder
	if len(r.Tests) > 0 {
		if err := table(&b, r.Tests); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	fmt.Fprintln(&b, Printable(verdictLine(r)))
	if r.Message != "" {
		fmt.Fprintln(&b, Printable(r.Message))
	}
	if r.Host != nil {
		fmt.Fprintln(&b, Printable(Host(*r.Host)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func table(w io.Writer, tests []job.TestReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TEST\tVERDICT\tCPU TIME\tWALL TIME\tMEMORY\tRUNS\tSPREAD\tDISTURBED BY\tNOTE")
	for _, x := range tests {
		// What is not printable would part cells and lines, too.
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", Printable(x.Name), Printable(string(x.Verdict)), Time(x.CPUTime), Time(x.WallTime),
			Bytes(x.MemoryPeak), Runs(x.Runs), Spread(x.Timing), Printable(Causes(x.Runs)), Printable(Note(x)))
	}
	return t.Flush()
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
