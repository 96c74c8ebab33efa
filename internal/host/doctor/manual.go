package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"judged/internal/base/job"
	"judged/internal/host/tune"
)

// Manual is deploy/HOST.md: every check with its risk, how to see it, how to mend it and how to see
// that it is mended. A test holds the file true to the table.
func Manual() string {
	var b strings.Builder
	b.WriteString(manualHead)
	for _, s := range severities() {
		fmt.Fprintf(&b, "\n## %s\n", s.meaning)
		for _, c := range allChecks() {
			if c.severity == s.severity {
				e, _ := Explain(c.id)
				b.WriteString(chapter(e))
			}
		}
	}
	b.WriteString("\n## " + probeHeading + "\n")
	for _, id := range ProbeIDs() {
		e, _ := Explain(id)
		b.WriteString(chapter(e))
	}
	b.WriteString(causesHead)
	for _, e := range job.Catalogue() {
		b.WriteString(causeRow(e))
	}
	return b.String()
}

const probeHeading = "tried out, with judged doctor --probe"

const manualHead = `# Preparing a host

What ` + "`judged doctor`" + ` checks, why it matters and how to mend it. This page is made from doctor's own table (` + "`go test ./internal/host/doctor -run Manual -update`" + `).

R stands for the reserved CPUs, H for the others, MASK_OF_H for their hex mask, W for the CPUs of one slot. Doctor prints the same
commands with the numbers of the host: ` + "`judged doctor`" + ` for all, ` + "`judged doctor --explain ID`" + ` for one. It changes nothing. What is written at
run time is gone at the next boot; "boot" is for good.

The figures say what a wrong setting costs and, in parentheses, where the figure comes from: measured (by the authors of judged), a
published experiment, documentation of the kernel, or an estimate.
`

const causesHead = `
## What disturbs a run, and what to do about it

The causes that reports and ` + "`judged_runs_disturbed_total`" + ` name. A cause that a program can produce by itself explains nothing: a run over
its limit counts all the same. ` + "`judged help causes`" + ` has the rule.

| Cause | Seen | A program can produce it | Remedy |
|---|---|---|---|
`

func causeRow(e job.CauseEntry) string {
	return fmt.Sprintf("| %s | %s | %s | %s |\n", e.Cause, e.Means, cmp.Or(e.SelfMade, "no"), e.Remedy)
}

func chapter(e Explanation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s: %s\n\n- Risk: %s.\n- Wanted: %s.\n- See: `%s`\n", e.ID, e.Title, e.Effect, e.Wanted, e.Confirm)
	if len(e.Fix.Runtime) > 0 {
		fmt.Fprintf(&b, "- Mend now:\n\n  ```\n  %s\n  ```\n\n", strings.Join(e.Fix.Runtime, "\n  "))
	}
	if e.Fix.Tune {
		fmt.Fprintf(&b, "- Tune: `judged tune apply --only %s`, and `judged tune restore` puts it back.\n", tune.For(e.ID))
	}
	if e.Fix.Boot != "" {
		fmt.Fprintf(&b, "- Boot: %s\n", e.Fix.Boot)
	}
	fmt.Fprintf(&b, "- Confirm: the command above shows what is wanted, and `judged doctor` says `pass` for %s.\n", e.ID)
	return b.String()
}
