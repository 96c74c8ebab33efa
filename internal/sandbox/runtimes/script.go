package runtimes

import (
	"io"
	"path"
	"slices"
	"strings"

	"judged/internal/base/text"
)

// scriptHead is how much of a file the kernel reads for a #! line (BINPRM_BUF_SIZE).
const scriptHead = 256

// scriptLine returns the text after the #! of a file, up to the kernel's limit, and whether the file starts
// with #!.
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

// Limits on what is read from a script that executes interpreters.
const (
	wrapperHead = 16 << 10
	maxExecuted = 8
)

// executes matches exec commands in a shell script, also with env.
var executes = text.Pattern(`(?m)(?:^|[\s;&|(])exec[ \t]+(?:(\S*\benv)[ \t]+)?([^\s;&|]+)`)

// readExecuted returns the interpreters that a script names after exec, such as python3 in a DOMjudge wrapper:
// no header of a submitted file names them. It ignores other programs, because runs do not need them.
func readExecuted(f io.ReaderAt) []string {
	b := make([]byte, wrapperHead)
	n, _ := f.ReadAt(b, 0) // a short read means a short file
	var names []string
	for _, m := range executes().FindAllSubmatch(b[:n], maxExecuted) {
		for _, word := range m[1:] {
			name := strings.Trim(string(word), `"'`)
			if isStandard(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
