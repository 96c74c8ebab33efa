package render

import (
	"fmt"
	"io"

	"judged/internal/base/text"
)

// Line is a progress line, overwritten by each Show. It prints nothing to a pipe, or to a terminal that cannot
// overwrite a line.
type Line struct{ W io.Writer }

// Show replaces the text of the line.
func (l Line) Show(format string, args ...any) {
	if s := text.ScreenOf(l.W); s.Cursor {
		io.WriteString(l.W, overwrite(s, fmt.Sprintf(format, args...)))
	}
}

// Clear erases the line.
func (l Line) Clear() { l.Show("") }

// overwrite returns the text that replaces the current line. A text of the full width would wrap, and its first line
// would stay.
func overwrite(s text.Screen, line string) string {
	runes := []rune(text.Printable(line))
	return "\r\x1b[K" + string(runes[:min(len(runes), s.Width-1)])
}
