package text

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is a table for people. A row is one line, and no cell is split, because people search for names and copy IDs.
// If a screen is too narrow, columns are left out instead.
type Table struct {
	Columns []Column
	Rows    []Row
	Hang    int // indent of the second and later lines of a note; 0 is 2
}

// Column is a column of a table.
type Column struct {
	Head string
	// Rank says when the column is left out on a screen that is too narrow: the highest rank first. Columns of rank 0,
	// such as names and IDs, always stay.
	Rank int
	// Prose may be wrapped. A table has at most one column of prose.
	Prose bool
}

// Row is a row of a table, with lines above and below it.
type Row struct {
	Title string   // of the rows from here on, below an empty line
	Cells []string // missing cells are empty
	Color string   // of the first cell, the parameters of an SGR escape
	Notes []string // below the row; a note can have several lines
}

const (
	gap        = 2
	noteIndent = 4
	absent     = "-" // what an empty cell shows
)

// Format returns the text of the table for a screen. Characters that are not printable become U+FFFD.
func (t Table) Format(s Screen) string {
	l := t.layout(s)
	var b strings.Builder
	if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Head != "" }) {
		heads := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			heads[i] = c.Head
		}
		l.row(&b, Row{Cells: heads}, "")
	}
	for _, r := range t.Rows {
		if r.Title != "" {
			b.WriteString("\n" + Printable(r.Title) + "\n")
		}
		l.row(&b, r, absent)
		for _, n := range r.Notes {
			t.note(&b, s, n)
		}
	}
	if names := t.leftOut(l); len(names) > 0 {
		for _, part := range s.Wrap("(no room for "+strings.Join(names, ", ")+")", 0, 0) {
			b.WriteString(part + "\n")
		}
	}
	return b.String()
}

// layout holds the columns that are shown.
type layout struct {
	Screen
	columns []shown
}

type shown struct {
	Column
	index, width int
}

// layout selects columns, and narrows the one with prose, until the table fits.
func (t Table) layout(s Screen) layout {
	l := layout{Screen: s}
	for i, c := range t.Columns {
		width := utf8.RuneCountInString(c.Head)
		for _, r := range t.Rows {
			width = max(width, utf8.RuneCountInString(cell(r.Cells, i, absent)))
		}
		l.columns = append(l.columns, shown{c, i, width})
	}
	for s.Width > 0 && !l.fit() {
		last := 0
		for i, c := range l.columns {
			if c.Rank > 0 && c.Rank >= l.columns[last].Rank {
				last = i
			}
		}
		if l.columns[last].Rank == 0 {
			break
		}
		l.columns = slices.Delete(l.columns, last, last+1)
	}
	return l
}

// fit reports whether the columns fit on the screen, with prose as narrow as necessary.
func (l *layout) fit() bool {
	room := l.Width + gap
	var prose *shown
	for i, c := range l.columns {
		room -= c.width + gap
		if c.Prose {
			prose = &l.columns[i]
		}
	}
	if prose == nil || room >= 0 {
		return room >= 0
	}
	least := min(prose.width, max(leastProse, utf8.RuneCountInString(prose.Head)))
	if prose.width+room < least {
		return false
	}
	prose.width += room
	return true
}

// leftOut returns the heads of the columns that are not shown.
func (t Table) leftOut(l layout) []string {
	var heads []string
	for i, c := range t.Columns {
		if !slices.ContainsFunc(l.columns, func(s shown) bool { return s.index == i }) {
			heads = append(heads, c.Head)
		}
	}
	return heads
}

// cell returns the text of a cell, or empty for one that is missing.
func cell(cells []string, i int, empty string) string {
	if i >= len(cells) || cells[i] == "" {
		return empty
	}
	return Printable(cells[i])
}

// row prints a row. Only prose takes more than one line.
func (l layout) row(b *strings.Builder, r Row, empty string) {
	parts, lines := make([][]string, len(l.columns)), 1
	for i, c := range l.columns {
		parts[i] = []string{cell(r.Cells, c.index, empty)}
		if c.Prose {
			parts[i] = Wrap(parts[i][0], c.width, 0)
		}
		lines = max(lines, len(parts[i]))
	}
	for n := range lines {
		var line strings.Builder
		end := 0 // after the last character that is not a space
		for i, c := range l.columns {
			part := ""
			if n < len(parts[i]) {
				part = parts[i][n]
			}
			pad := strings.Repeat(" ", max(0, c.width-utf8.RuneCountInString(part))+gap)
			if l.Color && r.Color != "" && i == 0 && n == 0 {
				part = "\x1b[" + r.Color + "m" + part + "\x1b[0m"
			}
			line.WriteString(part)
			if part != "" {
				end = line.Len()
			}
			line.WriteString(pad)
		}
		b.WriteString(line.String()[:end] + "\n")
	}
}

// note prints a note below a row.
func (t Table) note(b *strings.Builder, s Screen, text string) {
	hang := t.Hang
	if hang == 0 {
		hang = 2
	}
	for _, line := range s.Wrap(text, noteIndent, hang) {
		b.WriteString(strings.Repeat(" ", noteIndent) + line + "\n")
	}
}
