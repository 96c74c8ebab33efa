package render

import (
	"fmt"
	"io"
)

// Line is a progress line of a terminal, overwritten by each Show. Without W it
// prints nothing.
type Line struct{ W io.Writer }

// Show replaces the text of the line.
func (l Line) Show(format string, args ...any) {
	if l.W != nil {
		fmt.Fprintf(l.W, "\r\x1b[K"+format, args...)
	}
}

// Clear erases the line.
func (l Line) Clear() { l.Show("") }
