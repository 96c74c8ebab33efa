package tune

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"judged/internal/base/text"
)

// textWidth is the maximum width of the text report in columns.
const textWidth = 100

// WriteText writes the report as text: changes with old and new values, reasons and risks; then values that
// cannot be changed, with the reasons; then values that need no change.
func (r Report) WriteText(w io.Writer) error {
	t := table{bufio.NewWriter(w)}
	t.line(0, r.headline())
	if r.Note != "" {
		t.line(0, "note: "+r.Note)
	}
	t.values(r.Settings)
	t.stays(r.Settings)
	if r.Action == "plan" || r.Action == "apply" {
		t.otherSettings(r.Settings)
	}
	return t.w.Flush()
}

func (r Report) headline() string {
	count := map[State]int{}
	for _, s := range r.Settings {
		for _, v := range s.Values {
			count[v.State]++
		}
	}
	words := []string{}
	for _, p := range []struct {
		state State
		says  string
	}{
		{Change, "would be changed"}, {Set, "set"}, {Restored, "restored"}, {Old, "back at their old value"},
		{Drifted, "changed by somebody else"},
		{Left, "left because somebody changed them since"}, {Inherited, "left with CPUs that they inherited"},
		{Gone, "gone"}, {Stays, "cannot be changed"},
		{Failed, "failed"},
	} {
		if n := count[p.state]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, p.says))
		}
	}
	if len(words) == 0 {
		words = []string{"nothing to do"}
		if r.Action == "status" {
			words = []string{"nothing is applied"}
		}
	}
	head := "values: " + strings.Join(words, ", ")
	if r.CPUs != "" {
		head += " · reserved CPUs " + r.CPUs
	}
	if r.Housekeeping != "" {
		head += ", the others " + r.Housekeeping
	}
	return head
}

// table writes lines. bufio keeps the first error until Flush.
type table struct{ w *bufio.Writer }

// shown is a group of values of a setting with the same state, values and reason.
type shown struct {
	state            State
	from, to, reason string
	names            []string
}

// group groups values in the order of first appearance.
func group(values []Value, of func(Value) bool) []shown {
	var all []shown
	for _, v := range values {
		if !of(v) {
			continue
		}
		name := v.Path
		if v.Name != "" {
			name = v.Name
		}
		i := slices.IndexFunc(all, func(s shown) bool {
			return s.state == v.State && s.reason == v.Reason && (v.State == Stays || s.from == v.From && s.to == v.To)
		})
		if i < 0 {
			all = append(all, shown{v.State, v.From, v.To, v.Reason, nil})
			i = len(all) - 1
		}
		all[i].names = append(all[i].names, name)
	}
	return all
}

func (t table) values(settings []Setting) {
	for _, s := range settings {
		groups := group(s.Values, func(v Value) bool { return v.State != Stays })
		if len(groups) == 0 {
			continue
		}
		t.line(0, "")
		t.line(2, s.ID+": "+s.Title)
		for _, g := range groups {
			t.line(4, label(g.state)+listed(g.names))
			t.line(14, orNothing(g.from)+" -> "+orNothing(g.to))
			if g.reason != "" {
				t.line(14, g.reason)
			}
		}
		t.line(4, "why       "+s.Why)
		t.line(4, "risk      "+s.Risk)
	}
}

func label(s State) string { return fmt.Sprintf("%-10s", s) }

func orNothing(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return s
}

func (t table) stays(settings []Setting) {
	headed := false
	for _, s := range settings {
		for _, g := range group(s.Values, func(v Value) bool { return v.State == Stays }) {
			if !headed {
				t.line(0, "")
				t.line(0, "cannot be changed")
				headed = true
			}
			t.line(2, s.ID+": "+listed(g.names))
			t.line(6, g.reason)
		}
	}
}

func (t table) otherSettings(settings []Setting) {
	var right []string
	headed := false
	for _, s := range settings {
		switch {
		case s.Skip == "" && len(s.Values) == 0:
			right = append(right, s.ID)
		case s.Skip != "":
			if !headed {
				t.line(0, "")
				t.line(0, "nothing to set")
				headed = true
			}
			t.line(2, s.ID+": "+s.Skip)
		}
	}
	if len(right) > 0 {
		t.line(0, "")
		t.line(0, "already as wanted: "+strings.Join(right, ", "))
	}
}

// listed names a few items and counts the rest. Of files whose names differ only in a number it names one.
func listed(names []string) string {
	names = counted(names)
	most := 6
	if strings.HasPrefix(names[0], "/") {
		most = 1
	}
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	rest := fmt.Sprintf(" and %d more", len(names)-most)
	if most == 1 && path.Base(names[0]) != path.Base(names[1]) {
		most, rest = 2, fmt.Sprintf(" and %d more", len(names)-2)
		if len(names) == 2 {
			rest = ""
		}
	}
	return strings.Join(names[:most], ", ") + rest
}

// counted counts equal names, because threads of one process have the same name.
func counted(names []string) []string {
	count, once := map[string]int{}, []string{}
	for _, n := range names {
		if count[n]++; count[n] == 1 {
			once = append(once, n)
		}
	}
	for i, n := range once {
		if count[n] > 1 {
			once[i] = fmt.Sprintf("%s x%d", n, count[n])
		}
	}
	return once
}

// line writes text starting at a column. It wraps the text and replaces unprintable characters, because names
// of processes are untrusted.
func (t table) line(column int, s string) {
	hang := 0
	if column == 4 {
		hang = 10 // indent below the text after a label
	}
	for _, part := range text.Wrap(s, textWidth-column, hang) {
		fmt.Fprintln(t.w, strings.TrimRight(strings.Repeat(" ", column)+part, " "))
	}
}
