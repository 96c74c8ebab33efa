package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestGrid(t *testing.T) {
	wide := strings.Repeat("w", 30)
	for name, tt := range map[string]struct {
		head []string
		rows []Row
		want string
	}{
		"one column":   {[]string{"A"}, []Row{{Cells: []string{"x"}}, {}}, "A\nx\n-\n"},
		"no name":      {[]string{"", "B"}, []Row{{}}, "   B\n-  -\n"},
		"without rows": {[]string{"A", "B"}, nil, "A  B\n"},
		"remarks stand once, below their row": {[]string{"NAME", wide, wide, wide},
			[]Row{{Cells: []string{"a", "1", "2", "3"}, Notes: []string{"so"}}, {Cells: []string{"b"}}},
			"NAME  " + wide + "  " + wide + "\na     1                               2\nb     -                         " +
				"      -\n\nNAME  " + wide + "\na     3\n    so\nb     -\n"},
		"a long name continues below": {[]string{"NAME", wide, wide},
			[]Row{{Cells: []string{"secret/group-4/17-large", "1", "2"}}},
			"NAME              " + wide + "  " + wide +
				"\nsecret/group-4/1  1                               2\n7-large\n"},
		"a long cell continues below": {[]string{"NAME", "B"},
			[]Row{{Cells: []string{"a", strings.Repeat("word ", 16)}}},
			"NAME  B\na     " + strings.Repeat("word ", 14) + "word\n      word\n"},
	} {
		var b strings.Builder
		if err := Grid(&b, tt.head, tt.rows); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzGrid: whatever the widths, nothing is wider than a page.
func FuzzGrid(f *testing.F) {
	f.Add("name", "cell", 3)
	f.Add("", "", 2)
	f.Add(strings.Repeat("n", 99), strings.Repeat("c ", 99), 9)
	f.Fuzz(func(t *testing.T, lead, other string, n int) {
		n = min(max(n, 0), 20)
		head, cells := []string{lead}, []string{lead}
		for range n {
			head, cells = append(head, other), append(cells, other+lead)
		}
		var b strings.Builder
		if err := grid(&b, head, [][]string{cells, {other}}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if utf8.RuneCountInString(line) > pageWidth {
				t.Errorf("line %q is %d wide", line, utf8.RuneCountInString(line))
			}
		}
	})
}
