package runtimes

import (
	"io"
	"path"
	"slices"
	"strings"
)

// scriptHead is how much of a file the kernel looks at for a #! line
// (BINPRM_BUF_SIZE).
const scriptHead = 256

// scriptLine is what stands behind the #! of a file, as far as the kernel reads it,
// and whether there is such a line.
func scriptLine(f io.ReaderAt) (string, bool) {
	b := make([]byte, scriptHead)
	n, _ := f.ReadAt(b, 0) // a short read is a short file
	line, ok := strings.CutPrefix(string(b[:n]), "#!")
	line, _, _ = strings.Cut(line, "\n")
	line, _, _ = strings.Cut(line, "\x00") // where the kernel's text ends
	return line, ok
}

// readInterpreters are the programs that a #! line names: a path, and behind env
// a name to be looked up. None is no such line.
func readInterpreters(f io.ReaderAt) []string {
	line, ok := scriptLine(f)
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		return nil
	}
	if path.Base(words[0]) == "env" {
		// Its options and settings come before the name.
		words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "=") })
		return words[:min(len(words), 2)]
	}
	return words[:1]
}
