package doctor

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/host/settings"
)

const (
	tableWidth = 80
	labelWidth = 8  // "unknown" and a space
	idWidth    = 21 // the longest id and two spaces
	textIndent = 2 + labelWidth + idWidth
	moreIndent = 2 + labelWidth // small, because commands are wide and people copy them
)

// byUrgency returns the states in the order of urgency.
func byUrgency() []api.DoctorStatus {
	return []api.DoctorStatus{api.DoctorFail, api.DoctorWarn, api.DoctorUnknown, api.DoctorSkip, api.DoctorPass}
}

// WriteTable writes the report for people: the verdict, then the checks by severity with their fixes, in at
// most 80 columns. With color, status words have ANSI escapes.
func WriteTable(w io.Writer, r api.DoctorReport, color bool) error {
	t := table{w: bufio.NewWriter(w), color: color}
	t.line(0, verdict(r))
	t.line(0, fmt.Sprintf("%s · %s · %s · Linux %s", r.Host.Name, r.Host.Class, r.Host.CPUModel, r.Host.Kernel))
	t.line(0, fmt.Sprintf("reserved CPUs %s of %d · isolation %s · turbo %s", r.CPUs, r.Host.CPUs, r.Host.Isolation,
		r.Host.Turbo))
	if r.WindowNS > 0 {
		t.line(0, fmt.Sprintf("counts of the kernel cover %s", units.Duration(r.WindowNS)))
	} else {
		t.line(0, "counts of the kernel cover the time since boot")
	}
	for _, s := range severities() {
		t.group(s.meaning, checksOf(r, func(c api.DoctorCheck) bool { return c.Severity == s.severity && !isProbe(c) }))
	}
	t.group(probeHeading, checksOf(r, isProbe))
	return t.w.Flush()
}

type meaning struct {
	severity api.Severity
	meaning  string
}

func severities() []meaning {
	return []meaning{{api.SeverityS1, "S1  can move a verdict: more than 5 %"}, {api.SeverityS2, "S2  0.5 to 5 %"},
		{api.SeverityS3, "S3  less than 0.5 %"},
		{api.SeverityInfo, "for information"}}
}

func verdict(r api.DoctorReport) string {
	if r.Ready {
		return "ready"
	}
	return fmt.Sprintf("not ready: %d to fix, here is how", blocking(r))
}

// checksOf returns the checks of a group, the most severe first.
func checksOf(r api.DoctorReport, group func(api.DoctorCheck) bool) []api.DoctorCheck {
	var found []api.DoctorCheck
	for _, status := range byUrgency() {
		for _, c := range r.Checks {
			if group(c) && c.Status == status {
				found = append(found, c)
			}
		}
	}
	return found
}

// table writes lines. bufio keeps the first error until Flush.
type table struct {
	w     *bufio.Writer
	color bool
}

func (t *table) group(heading string, checks []api.DoctorCheck) {
	if len(checks) == 0 {
		return
	}
	t.line(0, "")
	t.line(0, heading)
	for _, c := range checks {
		t.check(c)
	}
}

func (t *table) check(c api.DoctorCheck) {
	lines := []string{c.Found}
	switch c.Status {
	case api.DoctorSkip, api.DoctorUnknown:
		lines[0] = c.Reason
	case api.DoctorFail, api.DoctorWarn:
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

func (t *table) label(s api.DoctorStatus) string {
	word := fmt.Sprintf("%-*s", labelWidth, s)
	if !t.color {
		return word
	}
	code := map[api.DoctorStatus]string{api.DoctorFail: "1;31", api.DoctorWarn: "33", api.DoctorPass: "32",
		api.DoctorSkip: "2", api.DoctorUnknown: "36"}[s]
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

func (t *table) line(indent int, line string) {
	for _, part := range text.Wrap(line, tableWidth-indent, 0) {
		fmt.Fprintln(t.w, strings.TrimRight(strings.Repeat(" ", indent)+part, " "))
	}
}

func isProbe(c api.DoctorCheck) bool { return strings.HasPrefix(c.ID, "probe-") }

// Manual returns the text of deploy/HOST.md: each check with its effect and fix. A test compares the file.
func Manual() string {
	var b strings.Builder
	b.WriteString(manualHead)
	for _, s := range severities() {
		fmt.Fprintf(&b, "\n## %s\n", s.meaning)
		for _, c := range settings.All() {
			if c.Severity == s.severity {
				b.WriteString(chapter(c))
			}
		}
	}
	b.WriteString("\n## " + probeHeading + "\n")
	for _, c := range settings.Probes() {
		b.WriteString(chapter(c))
	}
	return b.String()
}

const probeHeading = "measured by judged doctor --probe"

const manualHead = `# Preparing a host

The checks of ` + "`judged doctor`" + ` and what a wrong setting costs. The figures come from measurements by the authors of judged, a published
experiment, the kernel's documentation, or an estimate.

- ` + "`judged doctor`" + ` examines this host and prints the commands to fix it. It changes nothing.
- ` + "`judged doctor --explain ID`" + ` prints the command that shows a setting, before and after, and all commands that fix it.
- ` + "`judged tune apply`" + ` fixes what is marked "tune" until the next boot, ` + "`--only ID`" + ` one of them; ` + "`judged tune restore`" + ` undoes it.
- "Boot" is the permanent fix.
- ` + "`judged help causes`" + ` lists what disturbs a run, with the checks to look at.

R stands for the reserved CPUs, H for the others, MASK_OF_H for their hex mask, W for the CPUs of one slot. This file is
generated from the catalogue of settings (` + "`go test ./internal/host/doctor -run Manual -update`" + `).
`

// chapter omits the commands, which doctor prints.
func chapter(s settings.Setting) string {
	e, _ := Explain(s.ID)
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s: %s", e.ID, e.Title)
	if e.Fix.Tune {
		b.WriteString(" (tune")
		if s.Tuned() != s.ID {
			b.WriteString(" " + s.Tuned())
		}
		b.WriteString(")")
	}
	fmt.Fprintf(&b, "\n\nWanted: %s.\nCost: %s.\n", e.Wanted, e.Effect)
	if e.Fix.Boot != "" {
		fmt.Fprintf(&b, "Boot: %s.\n", e.Fix.Boot)
	}
	return b.String()
}
