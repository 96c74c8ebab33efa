package doctor

import (
	"fmt"
	"strings"

	"judged/internal/host/settings"
)

// Manual is deploy/HOST.md: every check with what it costs and how to fix it. A test compares the file.
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

// chapter leaves out the commands: doctor prints them.
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
