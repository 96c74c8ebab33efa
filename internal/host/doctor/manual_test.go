package doctor

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/host/settings"
)

const manualFile = "../../../deploy/HOST.md"

func TestManual(t *testing.T) {
	got := manual()
	if *update {
		if err := os.WriteFile(manualFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(manualFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the table says; run with -update (-file +table):\n%s", manualFile, diff)
	}
	for _, id := range slices.Concat(checkIDs(), ProbeIDs(), []string{settings.FrontSettings().ID}) {
		if !strings.Contains(got, "### "+id+":") {
			t.Errorf("%s is not in the manual", id)
		}
	}
	if strings.Contains(got, "{R}") || strings.Contains(got, "{H}") {
		t.Error("a placeholder is left in the manual")
	}
}

// TestRemediesNameChecks: the catalogue of causes refers to checks only by ID.
func TestRemediesNameChecks(t *testing.T) {
	named := regexp.MustCompile(`\(checks? ([a-z-]+(?:, [a-z-]+)*)\)`)
	for _, e := range api.Catalogue() {
		for _, list := range named.FindAllStringSubmatch(e.Remedy, -1) {
			for id := range strings.SplitSeq(list[1], ", ") {
				if !slices.Contains(checkIDs(), id) {
					t.Errorf("%s: its remedy names the unknown check %q", e.Cause, id)
				}
			}
		}
		if strings.Contains(e.Remedy, "(check") != named.MatchString(e.Remedy) {
			t.Errorf("%s: the list of checks is not understood: %q", e.Cause, e.Remedy)
		}
	}
}

// manual returns the text of deploy/HOST.md: each check with its effect and fix.
func manual() string {
	var b strings.Builder
	b.WriteString(manualHead)
	for _, s := range api.Severities() {
		fmt.Fprintf(&b, "\n## %s\n", heading(s))
		for _, c := range settings.All() {
			if c.Severity == s {
				b.WriteString(chapter(c))
			}
		}
	}
	b.WriteString("\n## of a front, in judged doctor --url\n" + chapter(settings.FrontSettings()))
	b.WriteString("\n## " + probeHeading + "\n")
	for _, c := range settings.Probes() {
		b.WriteString(chapter(c))
	}
	return b.String()
}

const manualHead = `# Preparing a host

This page lists the checks of ` + "`judged doctor`" + ` and the cost of a wrong setting. The figures are measurements by the authors of
judged, results of published experiments, from the kernel's documentation, or estimates.

- ` + "`judged doctor`" + ` examines this host and prints the commands to fix it. It changes nothing.
- ` + "`judged doctor --explain ID`" + ` prints the command that shows a setting, before and after, and all commands that fix it.
- ` + "`judged tune apply`" + ` fixes all settings marked "tune" until the next boot, or only one with ` + "`--only ID`" + `. ` + "`judged tune restore`" + `
  undoes it.
- "Boot" is the permanent fix.
- ` + "`judged help causes`" + ` lists the causes of disturbed runs with the related checks.

R stands for the reserved CPUs, H for the others, MASK_OF_H for their hex mask, W for the CPUs of one slot. This file is
generated from the catalogue of settings (` + "`go test ./internal/host/doctor -run Manual -update`" + `).
`

// checkIDs returns the IDs of all checks in the order of the report.
func checkIDs() []string { return ids(settings.All()) }

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
