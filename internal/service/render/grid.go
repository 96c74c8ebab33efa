package render

import (
	"io"
	"strings"
	"unicode/utf8"

	"judged/internal/base/text"
)

// pageWidth is the width of the narrowest terminal.
const pageWidth = 80

// Row is a row of a table and the notes below it.
type Row struct {
	Cells []string // missing cells are empty
	Notes []string
}

// Grid prints a table that is no wider than a page. Long cells are wrapped.
// Columns that do not fit continue in further tables, which repeat the first
// column.
func Grid(w io.Writer, head []string, rows []Row) error {
	var b strings.Builder
	blocks := fold(head, rows)
	for i, columns := range blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		columns.row(&b, head, "")
		for _, r := range rows {
			columns.row(&b, r.Cells, nothing)
			if i < len(blocks)-1 {
				continue
			}
			for _, n := range r.Notes {
				note(&b, n)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// grid is Grid for rows without notes.
func grid(w io.Writer, head []string, cells [][]string) error {
	rows := make([]Row, len(cells))
	for i, c := range cells {
		rows[i].Cells = c
	}
	return Grid(w, head, rows)
}

const (
	gap       = 2
	leastLead = 12 // the first column is not made narrower in favour of the others
	mostLead  = 36
)

// columns are the columns of a table that fit on a page together.
type columns []struct{ index, width int }

func (c columns) width() int {
	sum := -gap
	for _, x := range c {
		sum += x.width + gap
	}
	return sum
}

// fold splits the columns into blocks no wider than a page, each of which starts
// with the first column.
func fold(head []string, rows []Row) []columns {
	widths := make([]int, len(head))
	for i := range head {
		widths[i] = max(1, utf8.RuneCountInString(head[i]))
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell(r.Cells, i, nothing)))
		}
	}
	rest := 0
	for _, n := range widths[1:] {
		rest += gap + n
	}
	lead := min(widths[0], max(pageWidth-rest, mostLead))
	if pageWidth-rest >= leastLead {
		lead = min(widths[0], pageWidth-rest)
	}
	first := columns{{0, lead}}
	blocks := []columns{first}
	for i := 1; i < len(widths); i++ {
		last := len(blocks) - 1
		width := min(widths[i], pageWidth-lead-gap)
		if len(blocks[last]) > 1 && blocks[last].width()+gap+width > pageWidth {
			blocks, last = append(blocks, first), last+1
		}
		blocks[last] = append(blocks[last][:len(blocks[last]):len(blocks[last])], struct{ index, width int }{i, width})
	}
	return blocks
}

// cell returns the cell of a column, or empty if it is missing.
func cell(cells []string, i int, empty string) string {
	if i >= len(cells) || cells[i] == "" {
		return empty
	}
	return cells[i]
}

// row prints one row, on as many lines as its longest cell needs.
func (c columns) row(b *strings.Builder, cells []string, empty string) {
	parts, lines := make([][]string, len(c)), 1
	for i, x := range c {
		parts[i] = text.Wrap(cell(cells, x.index, empty), x.width, 0)
		lines = max(lines, len(parts[i]))
	}
	for n := range lines {
		var line strings.Builder
		for i, x := range c {
			part := ""
			if n < len(parts[i]) {
				part = parts[i][n]
			}
			line.WriteString(part)
			line.WriteString(strings.Repeat(" ", x.width-utf8.RuneCountInString(part)+gap))
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
}

// note prints a note below its row.
func note(b *strings.Builder, line string) {
	const indent = 4
	for _, part := range text.Wrap(line, pageWidth-indent, 2) {
		b.WriteString(strings.Repeat(" ", indent) + part + "\n")
	}
}
