package text

import (
	"cmp"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// PageWidth is the width of the narrowest common terminal, in columns.
const PageWidth = 80

// Screen describes the terminal, or its absence, on which output is read.
type Screen struct {
	Width  int  // in columns; 0, as for a pipe or a file, means no limit
	Color  bool // escapes may color text
	Cursor bool // escapes may move the cursor, so that a line can be overwritten
}

// ScreenOf returns the screen behind a writer. A terminal has colors unless NO_COLOR is set, and no escapes at all if
// TERM is dumb.
func ScreenOf(w io.Writer) Screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Screen{}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = PageWidth
	}
	capable := os.Getenv("TERM") != "dumb"
	return Screen{Width: cmp.Or(width, PageWidth), Color: capable && os.Getenv("NO_COLOR") == "", Cursor: capable}
}

// Wrap is like the function Wrap for each line of a text, with the width of the screen minus an indent. A pipe breaks no
// lines.
func (s Screen) Wrap(text string, indent, hang int) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		line = Printable(strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", tab))
		if s.Width == 0 {
			lines = append(lines, line)
		} else {
			lines = append(lines, Wrap(line, max(s.Width-indent, leastProse), hang)...)
		}
	}
	return lines
}

// tab replaces a tab, because columns are unknown in a line that may be indented and wrapped.
const tab = "    "

// leastProse is the least width that prose is wrapped to.
const leastProse = 20
