package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	columns := []Column{{Head: "NAME"}, {Head: "LEAST", Rank: 2}, {Head: "ID"}, {Head: "LESS", Rank: 1}}
	long := strings.Repeat("n", 30)
	row := Row{Cells: []string{long, "1", "i-2", "3"}}
	prose := []Column{{Head: "A"}, {Head: "PROSE", Prose: true, Rank: 1}, {Head: "B"}}
	words := strings.TrimSpace(strings.Repeat("word ", 12))
	for name, tt := range map[string]struct {
		table Table
		on    Screen
		want  string
	}{
		"one column":    {Table{Columns: columns[:1], Rows: []Row{{Cells: []string{"x"}}, {}}}, Screen{}, "NAME\nx\n-\n"},
		"without rows":  {Table{Columns: columns}, Screen{}, "NAME  LEAST  ID  LESS\n"},
		"without heads": {Table{Columns: make([]Column, 2), Rows: []Row{{Cells: []string{"", "b"}}}}, Screen{}, "-  b\n"},
		"in a pipe": {Table{Columns: columns, Rows: []Row{row}}, Screen{},
			"NAME                            LEAST  ID   LESS\n" + long + "  1      i-2  3\n"},
		"it fits": {Table{Columns: columns, Rows: []Row{row}}, Screen{Width: 48},
			"NAME                            LEAST  ID   LESS\n" + long + "  1      i-2  3\n"},
		"the highest rank goes first": {Table{Columns: columns, Rows: []Row{row}}, Screen{Width: 47},
			"NAME                            ID   LESS\n" + long + "  i-2  3\n(no room for LEAST)\n"},
		"names and IDs stay": {Table{Columns: columns, Rows: []Row{row}}, Screen{Width: 25},
			"NAME                            ID\n" + long + "  i-2\n(no room for LEAST, LESS)\n"},
		"prose is wrapped": {Table{Columns: prose, Rows: []Row{{Cells: []string{"a", words, "b"}}}}, Screen{Width: 40},
			"A  PROSE                               B\n" +
				"a  word word word word word word word  b\n" +
				"   word word word word word\n"},
		"prose is not wrapped in a pipe": {Table{Columns: prose, Rows: []Row{{Cells: []string{"a", words, "b"}}}}, Screen{},
			"A  PROSE" + strings.Repeat(" ", 56) + "B\na  " + words + "  b\n"},
		"no room for prose": {Table{Columns: prose, Rows: []Row{{Cells: []string{"a", words, "b"}}}}, Screen{Width: 25},
			"A  B\na  b\n(no room for PROSE)\n"},
		"notes": {Table{Columns: columns[:1], Rows: []Row{{Cells: []string{"x"}, Notes: []string{"one\ntwo\n", words}},
			{Cells: []string{"y"}}}}, Screen{Width: 40},
			"NAME\nx\n    one\n    two\n    word word word word word word word\n      word word word word word\ny\n"},
		"lines of a note": {Table{Columns: columns[:1], Rows: []Row{{Cells: []string{"x"},
			Notes: []string{"a\r\n\n\tb\x1b\r\n"}}}}, Screen{}, "NAME\nx\n    a\n    \n        b\ufffd\n"},
		"notes in a pipe": {Table{Columns: columns[:1], Rows: []Row{{Cells: []string{"x"}, Notes: []string{words}}}},
			Screen{}, "NAME\nx\n    " + words + "\n"},
		"titles and colors": {Table{Columns: make([]Column, 2), Rows: []Row{
			{Title: "bad", Cells: []string{"fail", "a"}, Color: "31"}, {Cells: []string{"warn!", "b"}}}},
			Screen{Color: true}, "\nbad\n\x1b[31mfail\x1b[0m   a\nwarn!  b\n"},
		"colors in a pipe": {Table{Columns: make([]Column, 1), Rows: []Row{{Cells: []string{"fail"}, Color: "31"}}},
			Screen{}, "fail\n"},
		"not printable": {Table{Columns: columns[:2], Rows: []Row{{Cells: []string{"a\nb\x1b", "\u202e"},
			Notes: []string{"\x07"}}}}, Screen{}, "NAME  LEAST\na\ufffdb\ufffd  \ufffd\n    \ufffd\n"},
	} {
		if diff := cmp.Diff(tt.want, tt.table.Format(tt.on)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzTable: on every screen, names are whole, and only they may be wider than it.
func FuzzTable(f *testing.F) {
	f.Add("name", "cell", 3, 80)
	f.Add("", "", 2, 0)
	f.Add(strings.Repeat("n", 99), strings.Repeat("c ", 99), 9, 40)
	f.Fuzz(func(t *testing.T, name, other string, n, width int) {
		s := Screen{Width: min(max(width, 0), 300)}
		table := Table{Columns: []Column{{Head: "N"}}, Rows: []Row{{Cells: []string{name}, Notes: []string{other}}}}
		for i := range min(max(n, 0), 20) {
			table.Columns = append(table.Columns, Column{Head: "H", Rank: i + 1, Prose: i == 2})
			table.Rows[0].Cells = append(table.Rows[0].Cells, other)
		}
		text := table.Format(s)
		if !strings.Contains(text, Printable(name)) {
			t.Errorf("%q is not whole:\n%s", name, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if w := utf8.RuneCountInString(line); s.Width > 0 && w > max(s.Width, leastProse+noteIndent,
				utf8.RuneCountInString(name)) {
				t.Errorf("line %q is %d wide", line, w)
			}
		}
	})
}
