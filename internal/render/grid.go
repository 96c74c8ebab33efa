package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// grid prints rows under a head, in columns. What a row has less than the head
// is empty.
func grid(w io.Writer, head []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, row := range rows {
		cells := make([]string, len(head))
		copy(cells, row)
		for i := range cells {
			if cells[i] == "" {
				cells[i] = nothing
			}
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}
