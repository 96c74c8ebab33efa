package text

import (
	"cmp"
	"io"
	"os"

	"golang.org/x/term"
)

// PageWidth is the width of the narrowest common terminal, in columns.
const PageWidth = 80

// Screen is what the reader of some output sees it on.
type Screen struct {
	Width  int  // in columns; 0, of a pipe or a file, is no limit
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

// Wrap is like the function Wrap, with the width of the screen minus an indent. A pipe breaks no lines.
func (s Screen) Wrap(text string, indent, hang int) []string {
	text = Printable(text)
	if s.Width == 0 {
		return []string{text}
	}
	return Wrap(text, max(s.Width-indent, leastProse), hang)
}

// leastProse is the least width that prose is wrapped to.
const leastProse = 20
