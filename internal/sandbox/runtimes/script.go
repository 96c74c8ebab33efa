package runtimes

import (
	"io"
	"path"
	"regexp"
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

// The bounds of what is read of a script that executes interpreters.
const (
	wrapperHead = 16 << 10
	maxExecuted = 8
)

// executes finds what a shell script replaces itself with, also through env.
var executes = regexp.MustCompile(`(?m)(?:^|[\s;&|(])exec[ \t]+(?:(\S*\benv)[ \t]+)?([^\s;&|]+)`)

// readExecuted returns the interpreters that a script names behind exec, such as python3 in a wrapper of DOMjudge: no
// header of a file that is submitted names them. Other programs are not among what runs need.
func readExecuted(f io.ReaderAt) []string {
	b := make([]byte, wrapperHead)
	n, _ := f.ReadAt(b, 0) // a short read means a short file
	var names []string
	for _, m := range executes.FindAllSubmatch(b[:n], maxExecuted) {
		for _, word := range m[1:] {
			name := strings.Trim(string(word), `"'`)
			if isStandard(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
