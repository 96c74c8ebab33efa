package doctor

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"judged/internal/base/text"
	"judged/internal/base/units"
)

const (
	tableWidth = 80
	labelWidth = 8  // "unknown" and a space
	idWidth    = 21 // the longest id and two spaces
	textIndent = 2 + labelWidth + idWidth
	moreIndent = 2 + labelWidth // commands need the space: people copy them
)

// byUrgency puts what has to be done first.
func byUrgency() []Status { return []Status{Fail, Warn, Unknown, Skip, Pass} }

// WriteTable writes the report for people: the verdict first, then the checks by severity with the fix for each, in
// at most 80 columns. Colours are ANSI escapes around the status words.
func (r Report) WriteTable(w io.Writer, color bool) error {
	t := table{w: bufio.NewWriter(w), color: color}
	t.line(0, r.verdict())
	t.line(0, fmt.Sprintf("%s · %s · %s · Linux %s", r.Host.Name, r.Host.Class, r.Host.CPUModel, r.Host.Kernel))
	t.line(0, fmt.Sprintf("reserved CPUs %s of %d · isolation %s · turbo %s", r.CPUs, r.Host.CPUs, r.Host.Isolation,
		r.Host.Turbo))
	if r.WindowNS > 0 {
		t.line(0, fmt.Sprintf("counts of the kernel cover %s", units.Duration(r.WindowNS)))
	} else {
		t.line(0, "counts of the kernel cover the time since boot")
	}
	for _, s := range severities() {
		t.group(s.meaning, r.of(func(c Check) bool { return c.Severity == s.severity && !c.probe() }))
	}
	t.group(probeHeading, r.of(Check.probe))
	return t.w.Flush()
}

type meaning struct {
	severity Severity
	meaning  string
}

func severities() []meaning {
	return []meaning{{S1, "S1  can move a verdict: more than 5 %"}, {S2, "S2  0.5 to 5 %"}, {S3, "S3  less than 0.5 %"},
		{Info, "for information"}}
}

func (r Report) verdict() string {
	if r.Ready {
		return "ready"
	}
	return fmt.Sprintf("not ready: %d to fix, here is how", r.blocking())
}

// of returns the checks of a group, the worst first.
func (r Report) of(group func(Check) bool) []Check {
	var found []Check
	for _, status := range byUrgency() {
		for _, c := range r.Checks {
			if group(c) && c.Status == status {
				found = append(found, c)
			}
		}
	}
	return found
}

// table writes lines; bufio keeps the first error until Flush.
type table struct {
	w     *bufio.Writer
	color bool
}

func (t *table) group(heading string, checks []Check) {
	if len(checks) == 0 {
		return
	}
	t.line(0, "")
	t.line(0, heading)
	for _, c := range checks {
		t.check(c)
	}
}

func (t *table) check(c Check) {
	lines := []string{c.Found}
	switch c.Status {
	case Skip, Unknown:
		lines[0] = c.Reason
	case Fail, Warn:
		lines = append(lines, "why     "+c.Reason, "wanted  "+c.Wanted, "costs   "+c.Effect)
		for _, command := range c.Fix.Runtime {
			lines = append(lines, "now     "+command)
		}
		if c.Fix.Boot != "" {
			lines = append(lines, "boot    "+c.Fix.Boot)
		}
	}
	head := fmt.Sprintf("  %s%-*s", t.label(c.Status), idWidth, c.ID)
	for i, part := range text.Wrap(lines[0], tableWidth-textIndent, 0) {
		if i == 0 {
			fmt.Fprintln(t.w, strings.TrimRight(head+part, " "))
			continue
		}
		t.line(textIndent, part)
	}
	for _, line := range lines[1:] {
		for _, part := range text.Wrap(line, tableWidth-moreIndent, 8) {
			t.line(moreIndent, part)
		}
	}
}

func (t *table) label(s Status) string {
	word := fmt.Sprintf("%-*s", labelWidth, s)
	if !t.color {
		return word
	}
	code := map[Status]string{Fail: "1;31", Warn: "33", Pass: "32", Skip: "2", Unknown: "36"}[s]
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

func (t *table) line(indent int, line string) {
	for _, part := range text.Wrap(line, tableWidth-indent, 0) {
		fmt.Fprintln(t.w, strings.TrimRight(strings.Repeat(" ", indent)+part, " "))
	}
}

func (c Check) probe() bool { return strings.HasPrefix(c.ID, "probe-") }
