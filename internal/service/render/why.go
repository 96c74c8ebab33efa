package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
)

// Why explains step by step how a report came to its verdict: which test decides, its runs against the limit, what
// noise explains, what ended the repeats, and where it was judged. See Steps for queued.
func Why(w io.Writer, r api.Report, queued time.Time) error {
	steps := Steps(r, queued)
	var b strings.Builder
	paragraph(&b, text.ScreenOf(w), verdictLine(r))
	for i, step := range steps {
		fmt.Fprintf(&b, "\n%d. ", i+1)
		first, rest, _ := strings.Cut(step, "\n")
		fmt.Fprintln(&b, Printable(first))
		for line := range strings.Lines(rest) {
			fmt.Fprintf(&b, "   %s\n", Printable(strings.TrimSuffix(line, "\n")))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Steps returns the steps of Why. The run that the report describes was queued at the given time, which differs from
// CreatedAt if the job was judged again; it is zero if unknown.
func Steps(r api.Report, queued time.Time) []string {
	var steps []string
	switch {
	case !r.State.Final():
		steps = append(steps, fmt.Sprintf("The job is %s: it has no verdict yet.", r.State))
	case r.Verdict != "":
		steps = append(steps, meaningOf(api.Verdicts(), string(r.Verdict)))
	}
	if r.Fault != "" {
		steps = append(steps, fmt.Sprintf("Whose fault it is: %s. %s", r.Fault, meaningOf(api.Faults(), string(r.Fault))))
	}
	if r.Message != "" {
		steps = append(steps, r.Message)
	}
	if c := r.Compilation; c != nil {
		steps = append(steps, compiled(*c))
	}
	if x := decisive(r); x != nil {
		steps = append(steps, decides(r, *x))
		steps = append(steps, whyTest(*x, r.Message)...)
	}
	steps = append(steps, whyHosts(r)...)
	if x := r.Rejudging; x != nil {
		steps = append(steps, fmt.Sprintf("It was judged again, by rejudging %s: %s before. Job %s has that report.",
			x.ID, x.PreviousVerdict, x.Job))
	}
	if r.StartedAt.After(queued) && !queued.IsZero() {
		steps = append(steps, fmt.Sprintf("It waited %s, in attempt %d. Waiting is no part of any time above.",
			units.Duration(r.StartedAt.Sub(queued).Round(time.Microsecond)), max(r.Attempt, 1)))
	}
	return steps
}

// decisive returns the test that determines the verdict: the first failed test, or else the one nearest to its limit.
func decisive(r api.Report) *api.TestReport {
	var near *api.TestReport
	for i, x := range r.Tests {
		if x.Verdict.Failed() {
			return &r.Tests[i]
		}
		if x.Timing != nil && (near == nil || x.Timing.MarginRatio < near.Timing.MarginRatio) {
			near = &r.Tests[i]
		}
	}
	return near
}

// decides explains why a test is the decisive one.
func decides(r api.Report, x api.TestReport) string {
	skipped := 0
	for _, t := range r.Tests {
		if t.Verdict == api.Skipped {
			skipped++
		}
	}
	notRun := ""
	if skipped > 0 {
		notRun = fmt.Sprintf(" Not run: %d.", skipped)
	}
	if !x.Verdict.Failed() {
		return fmt.Sprintf("No test of %d failed. Test %s is nearest to its time limit.%s", len(r.Tests), x.Name, notRun)
	}
	line := fmt.Sprintf("Test %s decides: it is the first of %d, in their order, that failed.%s", x.Name, len(r.Tests),
		notRun)
	if len(r.Groups) > 0 {
		line += "\nThe points are those of the groups; judged status lists them."
	}
	return line
}

func compiled(c api.Compilation) string {
	what := "The source"
	if c.Program != "" {
		what = "The " + c.Program
	}
	text := fmt.Sprintf("%s was compiled as %s", what, c.Language)
	if c.Cached {
		text += ", by an earlier job"
	}
	text += "; that time is not part of any run."
	if c.Output != "" {
		text += "\n" + strings.TrimSpace(c.Output)
	}
	return text
}

// whyTest returns the steps from the runs of a test to its verdict. It leaves out a note that is part of said.
func whyTest(x api.TestReport, said string) []string {
	var steps []string
	verdict := fmt.Sprintf("Test %s is %s.", x.Name, x.Verdict)
	if n := Note(x); n != "" && !strings.Contains(said, n) {
		verdict += " " + n
	}
	if x.Pass > 0 {
		verdict += fmt.Sprintf("\nThe figures are those of pass %d of %d.", x.Pass, len(x.Passes))
	}
	steps = append(steps, verdict)
	t := x.Timing
	if t != nil {
		steps = append(steps, limitStep(*t))
	}
	if len(x.Runs) > 0 && (t != nil || x.Verdict == api.InternalError) {
		steps = append(steps, runsStep(x.Runs, t))
	}
	if t == nil {
		return append(steps, causesStep(x.Runs)...)
	}
	steps = append(steps, fmt.Sprintf("What ended the repeats (policy %s): %s\nWhich time counts: %s, %s.\n"+
		"Confidence %s: %s", t.Policy, meaningOf(api.Deciders(),
		t.DecidedBy), statistic(*t), Time(x.CPUTime), t.Confidence, meaningOf(api.Confidences(), string(t.Confidence))))
	return append(steps, causesStep(x.Runs)...)
}

func limitStep(t api.Timing) string {
	learned := "a fixed value: too few reference kernels have run"
	if t.GuardLearned {
		learned = "learned from reference kernels on this host"
	}
	side := "below it"
	if t.MarginRatio < 0 {
		side = "over it"
	}
	return fmt.Sprintf("The limit is %s of CPU time; the time that counts is %.1f %% %s.\n"+
		"Within %s of the limit one run proves nothing (%s).", units.Duration(t.Limit),
		100*max(t.MarginRatio, -t.MarginRatio), side, units.Duration(t.Guard), learned)
}

// runsStep lists the runs in order. t is nil if no time was decided.
func runsStep(runs []api.Run, t *api.Timing) string {
	lines := []string{fmt.Sprintf("It ran %s:", times(len(runs)))}
	for i, r := range runs {
		line := fmt.Sprintf("run %d: CPU time %s, wall time %s on CPU %s", i+1, units.Duration(r.CPUTime),
			units.Duration(r.WallTime), r.CPUs)
		over := t != nil && r.CPUTime > t.Limit
		if over {
			line += ", over the limit"
		}
		if e := r.Explained; e.CPUTime > 0 || e.WallTime > 0 {
			line += fmt.Sprintf("; noise explains at most %s of CPU time and %s of wall time%s",
				units.Duration(e.CPUTime), units.Duration(e.WallTime), explainedBy(e))
		}
		switch explained := over && r.CPUTime-r.Explained.CPUTime <= t.Limit; {
		case !r.Kept:
			line += "; set aside: without that time it is within the limit"
		case explained && t.Confidence == api.Noisy && t.DecidedBy == api.ByBudget:
			line += "; it counts because another run is over the limit without what noise explains"
		case explained && t.DecidedBy != api.ByFixed:
			line += "; it counts because the runs agree more closely than they would if noise had added that"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func explainedBy(e api.Explained) string {
	var causes []string
	for _, x := range e.Causes {
		causes = append(causes, string(x.Cause))
	}
	if len(causes) == 0 {
		return ""
	}
	return " (" + strings.Join(causes, ", ") + ")"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// statistic names the order statistic that counts.
func statistic(t api.Timing) string {
	name := "the " + t.Statistic
	switch t.Statistic {
	case "single":
		return "that of the only run"
	case "second_min":
		name = "the second fastest"
	case "min":
		name = "the fastest"
	}
	return fmt.Sprintf("%s of %d", name, t.N)
}

// causesStep explains the causes that disturbed the runs, if any.
func causesStep(runs []api.Run) []string {
	var lines []string
	for _, e := range api.Catalogue() {
		if slices.ContainsFunc(runs, func(r api.Run) bool { return slices.Contains(r.Disturbed, e.Cause) }) {
			lines = append(lines, fmt.Sprintf("%s: %s", e.Cause, e.Means))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return []string{"Seen during the runs; judged doctor --explain NAME says more:\n" + strings.Join(lines, "\n")}
}

// whyHosts returns the steps about hosts.
func whyHosts(r api.Report) []string {
	var steps []string
	if s := r.Screening; s != nil && s.Decided {
		steps = append(steps, fmt.Sprintf("Pool %s decided: with the smallest ratio of times known, %.3f, every test is "+
			"within its limit in the deciding pool.", s.Pool, s.SmallestRatio))
	} else if s != nil {
		steps = append(steps, fmt.Sprintf("Pool %s judged first, in job %s; its report does not count: %s.", s.Pool,
			s.Job, s.Reason))
	}
	if c := r.CrossCheck; c != nil {
		lines := []string{fmt.Sprintf("Near the limit in a contest, so several hosts were asked (%s):", c.Decision)}
		for _, h := range c.Hosts {
			lines = append(lines, fmt.Sprintf("%s: %s, CPU time %s", h.Node, h.Verdict, Time(h.CPUTime)))
		}
		steps = append(steps, strings.Join(lines, "\n"))
	}
	if h := r.Host; h != nil {
		text := fmt.Sprintf("Judged on %s: %s.", h.Name, Host(*h))
		if h.Admitted {
			text += "\nThe host differs from its pool; an operator has admitted it."
		}
		steps = append(steps, text)
	}
	return steps
}

// meaningOf returns the meaning of a word, or the word itself if it is from another version of judged.
func meaningOf(list []api.Meaning, word string) string {
	for _, m := range list {
		if m.Word == word {
			return m.Means
		}
	}
	return word + "."
}
