package attacks

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"judged/internal/base/text"
	"judged/internal/sandbox/initproc"
)

// Outcome is the result of an attack with one layer removed.
type Outcome string

// The outcomes. Any other value is the verdict with which another layer stopped the attack.
const (
	Held     Outcome = "held"
	Broke    Outcome = "broke"
	NotTried Outcome = "not tried" // a success would do harm
)

// Needs returns the text for the outcomes by layer: the layers without which the attack succeeds. If removing a
// single layer is never enough, two or more layers stop the attack.
func Needs(outcomes map[initproc.Layers]Outcome) string {
	var needed, untried []string
	for _, l := range initproc.EachLayer() {
		switch outcomes[l] {
		case Broke:
			needed = append(needed, l.String())
		case NotTried:
			untried = append(untried, l.String())
		}
	}
	text := strings.Join(needed, ", ")
	if len(needed) == 0 {
		text = "two or more"
	}
	if len(untried) > 0 {
		text += "; not tried without " + strings.Join(untried, ", ")
	}
	return text
}

// Texts for other attacks.
const (
	NeedsUnknown = "not tried" // not possible on this machine
	NeedsNothing = "**open**"
	NeedsHost    = "root `host`"
)

// The lines around the table in SECURITY.md.
const (
	tableBegin = "<!-- written by go test ./internal/engine/judge -run TestLayers -update; measured on "
	tableEnd   = "<!-- end of the table -->"
)

// Table is the table in SECURITY.md, and the machine on which it was measured. The results of other machines
// can differ, so tests compare only the data of the attacks with it.
type Table struct {
	Machine string            // such as "Linux 6.18, amd64, cgroup v1"
	Needs   map[string]string // by name of the attack
}

// Write replaces the table in a text.
func (t Table) Write(text string, all []Attack) (string, error) {
	before, _, after, err := split(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(before + tableBegin + t.Machine + " -->\n\n")
	b.WriteString("| # | attack | verdict | stopped by | needs |\n|---|---|---|---|---|\n")
	for _, class := range Classes() {
		for _, a := range all {
			if a.Class == class {
				b.WriteString(row(a, t.Needs[a.Name]))
			}
		}
	}
	return b.String() + "\n" + tableEnd + after, nil
}

func row(a Attack, needs string) string {
	return fmt.Sprintf("| %s | *%s*: %s | %s | %s | %s |\n", a.Name[:3], a.Class, a.Title, text.Join(a.Verdicts, ", "),
		a.StoppedBy, needs)
}

// ReadTable parses the measurements from a text written by Write.
func ReadTable(text string, all []Attack) (Table, error) {
	_, table, _, err := split(text)
	if err != nil {
		return Table{}, err
	}
	machine, rows, _ := strings.Cut(table, " -->\n")
	t := Table{Machine: machine, Needs: map[string]string{}}
	for line := range strings.Lines(rows) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if i := slices.IndexFunc(all, func(a Attack) bool {
			return a.Name[:3] == strings.TrimSpace(
				cells[0])
		}); i >= 0 {
			t.Needs[all[i].Name] = strings.TrimSpace(cells[len(cells)-1])
		}
	}
	return t, nil
}

func split(text string) (before, table, after string, err error) {
	before, rest, begins := strings.Cut(text, tableBegin)
	table, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return "", "", "", errors.New("find the table of attacks: the comments around it are not there; copy them from " +
			"package attacks")
	}
	return before, table, after, nil
}
