package runtimes

import (
	"io"
	"path"
	"slices"
	"strings"
)

// scriptHead is how much of a file the kernel reads for a #! line (BINPRM_BUF_SIZE).
const scriptHead = 256

// scriptLine returns what follows the #! of a file, as far as the kernel reads it, and whether the file starts with
// #!.
func scriptLine(f io.ReaderAt) (string, bool) {
	b := make([]byte, scriptHead)
	n, _ := f.ReadAt(b, 0) // a short read means a short file
	line, ok := strings.CutPrefix(string(b[:n]), "#!")
	line, _, _ = strings.Cut(line, "\n")
	line, _, _ = strings.Cut(line, "\x00") // the kernel stops here
	return line, ok
}

// readInterpreters returns the programs that a #! line names: a path, and after env a name to look up. It returns nil
// if there is no such line.
func readInterpreters(f io.ReaderAt) []string {
	line, ok := scriptLine(f)
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		return nil
	}
	if path.Base(words[0]) == "env" {
		// Options and variables of env come before the name.
		words = slices.DeleteFunc(words, func(w string) bool {
			return strings.HasPrefix(w, "-") ||
				strings.Contains(w, "=")
		})
		return words[:min(len(words), 2)]
	}
	return words[:1]
}
