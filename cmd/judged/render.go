package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"judged/internal/job"
	"judged/internal/units"
)

// renderReport prints a report for people. run and submit share it.
func renderReport(w io.Writer, r job.Report) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TEST\tVERDICT\tCPU TIME\tWALL TIME\tMEMORY\tRUNS\tSPREAD\tDISTURBED BY\tNOTE")
	for _, x := range r.Tests {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", printable(x.Name), x.Verdict, showTime(x.CPUTime), showTime(x.WallTime),
			showBytes(x.MemoryPeak), showRuns(x), showSpread(x.Timing), showCauses(x.Runs), printable(showNote(x)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%s\n", verdictLine(r))
	if r.Message != "" {
		fmt.Fprintf(&b, "%s\n", printable(r.Message))
	}
	if r.Host != nil {
		fmt.Fprintf(&b, "%s\n", hostLine(*r.Host))
	}
	_, err := io.WriteString(w, b.String())
	return err
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

func hostLine(h job.Host) string {
	fit := "the host is fit to judge"
	if h.Doctor != nil && !h.Doctor.Ready {
		fit = fmt.Sprintf("this host is not fit for times that decide: %s (see judged doctor)", strings.Join(h.Doctor.Failed, ", "))
	}
	return fmt.Sprintf("isolation %s, turbo %s; %s", h.Isolation, h.Turbo, fit)
}

func showTime(d *time.Duration) string {
	if d == nil {
		return "-"
	}
	return units.Duration(*d)
}

func showBytes(b *units.Bytes) string {
	if b == nil {
		return "-"
	}
	return units.Round(*b)
}

// showRuns is the kept runs, and how many there were if some were not kept.
func showRuns(x job.TestReport) string {
	kept := 0
	for _, r := range x.Runs {
		if r.Kept {
			kept++
		}
	}
	switch {
	case len(x.Runs) == 0:
		return "-"
	case kept < len(x.Runs):
		return fmt.Sprintf("%d of %d", kept, len(x.Runs))
	}
	return fmt.Sprint(kept)
}

func showSpread(t *job.Timing) string {
	switch {
	case t == nil || t.N < 2:
		return "-"
	case t.SpreadRatio == nil:
		return units.Duration(t.Spread)
	}
	return fmt.Sprintf("%s (%.1f %%)", units.Duration(t.Spread), *t.SpreadRatio*100)
}

// showCauses counts in how many runs each cause was seen.
func showCauses(runs []job.Run) string {
	count := map[job.Cause]int{}
	for _, r := range runs {
		for _, c := range r.Disturbed {
			count[c]++
		}
	}
	var parts []string
	for _, c := range slices.Sorted(maps.Keys(count)) {
		text := string(c)
		if len(runs) > 1 {
			text = fmt.Sprintf("%s %dx", c, count[c])
		}
		parts = append(parts, text)
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

// showNote is the most useful thing to know about a test that did not pass.
func showNote(x job.TestReport) string {
	switch {
	case x.Message != "":
		return x.Message
	case x.Checker != nil && x.Checker.Message != "":
		return x.Checker.Message
	case x.Exit != nil && x.Exit.Signal != "":
		return x.Exit.Signal
	case x.Exit != nil && x.Exit.Code != nil && *x.Exit.Code != 0:
		return fmt.Sprintf("exit %d", *x.Exit.Code)
	case x.Timing != nil && x.Timing.Confidence != job.OneRun && x.Timing.Confidence != job.Stable:
		return "time is " + string(x.Timing.Confidence)
	}
	return ""
}

// printable keeps what programs and platforms say from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// progress tells people at a terminal how far a job is.
type progress struct {
	w     io.Writer // nil is nobody
	total int
	done  int
}

func (a *app) newProgress(total int) *progress {
	if !isTerminal(a.err) {
		return &progress{}
	}
	return &progress{w: a.err, total: total}
}

func (p *progress) test(t job.TestReport) {
	if p.w == nil {
		return
	}
	p.done++
	fmt.Fprintf(p.w, "\r\x1b[K%d of %d  %s %s", p.done, p.total, printable(t.Name), t.Verdict)
}

// end clears the line.
func (p *progress) end() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
