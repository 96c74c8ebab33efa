package attacks

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"judged/internal/api"
	"judged/internal/sandbox/initproc"
)

// Outcome is what came of an attack with one layer left out.
type Outcome string

// The outcomes. Anything else is a verdict by which another layer stopped it.
const (
	Held     Outcome = "held"
	Broke    Outcome = "broke"
	NotTried Outcome = "not tried" // its success would do harm there
)

// Needs says what a table shows of the outcomes by layer: the layers without
// which the attack gets through. One that no missing layer lets through is held
// by two or more.
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

// What a table says of other attacks.
const (
	NeedsUnknown = "not tried" // this machine cannot
	NeedsNothing = "**open**"
	NeedsHost    = "root `host`"
)

// The lines around the table of SECURITY.md.
const (
	tableBegin = "<!-- written by go test ./internal/engine/judge -run TestLayers -update; measured on "
	tableEnd   = "<!-- end of the table -->"
)

// Table is the table of SECURITY.md, with the machine that it was measured on.
// Machines of another kind may hold more or less: what is compared with it there
// is only what the data of the attacks say.
type Table struct {
	Machine string            // "Linux 6.18, amd64, cgroup v1"
	Needs   map[string]string // by the attack's name
}

// Write puts the table in its place in a text.
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
	return fmt.Sprintf("| %s | *%s*: %s | %s | %s | %s |\n", a.Name[:3], a.Class, a.Title, verdicts(a.Verdicts),
		a.StoppedBy, needs)
}

func verdicts(all []api.Verdict) string {
	var names []string
	for _, v := range all {
		names = append(names, string(v))
	}
	return strings.Join(names, ", ")
}

// ReadTable is the reverse of Write, as far as it holds measurements.
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
