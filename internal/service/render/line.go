package render

import (
	"fmt"
	"io"
)

// Line is one line of a terminal that is written over again and again. With no
// W nobody is told anything.
type Line struct{ W io.Writer }

// Show replaces what the line says.
func (l Line) Show(format string, args ...any) {
	if l.W != nil {
		fmt.Fprintf(l.W, "\r\x1b[K"+format, args...)
	}
}

// Clear leaves the line empty for what comes next.
func (l Line) Clear() { l.Show("") }
