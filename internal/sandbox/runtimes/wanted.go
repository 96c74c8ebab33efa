package runtimes

import (
	"io"
	"path"
	"slices"
	"strings"

	"judged/internal/base/text"
)

// wanted returns Program.Wanted.
func wanted(f io.ReaderAt) string {
	if line, ok := scriptLine(f); ok {
		// The kernel ends the name at a blank. With Windows line endings the name ends in CR.
		name, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimLeft(line, " \t"), "\t", " "), " ")
		switch {
		case !slices.Contains(binFolders[:], path.Dir(name)) || !standard().MatchString(path.Base(name)):
			return ""
		case path.Base(name) == "env":
			return throughEnv(f, line)
		}
		return name
	}
	if l, _ := readLinkage(f); slices.Contains(loaders[:], l.loader) {
		return l.loader
	}
	return ""
}

// binFolders are the usual folders of interpreters in #! lines.
var binFolders = [...]string{"/bin", "/usr/bin", "/usr/local/bin"}

// standard matches the interpreters of languages that contests use, with or without a version.
var standard = text.Pattern(
	`^(env|sh|bash|dash|zsh|ksh|mksh|fish|csh|tcsh|busybox|` +
		`python|pypy|micropython|jython|perl|raku|ruby|jruby|php|lua|luajit|tclsh|awk|gawk|mawk|sed|bc|dc|` +
		`node|nodejs|deno|bun|ts-node|tsx|qjs|java|jshell|kotlin|scala|scala-cli|groovy|clojure|clj|mono|dotnet|csi|pwsh|` +
		`R|Rscript|julia|octave|octave-cli|guile|racket|sbcl|clisp|ecl|ocaml|runghc|runhaskell|stack|ghci|` +
		`erl|escript|elixir|swipl|gprolog|gst|gforth|crystal|dart|nim|rdmd|tcc|expect|m4|jq|wasmtime)[0-9.]*$`)

// isStandard reports whether a name, or a path in the usual folders, is that of a standard interpreter.
func isStandard(name string) bool {
	dir := path.Dir(name)
	return standard().MatchString(path.Base(name)) &&
		(!strings.Contains(name, "/") || slices.Contains(binFolders[:], dir))
}

// loaders are the loaders of the usual C libraries for Linux.
var loaders = [...]string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1",
	"/lib/ld-musl-aarch64.so.1"}

// throughEnv returns the name that env looks up.
func throughEnv(f io.ReaderAt, line string) string {
	names := readInterpreters(f)
	if len(names) != 2 || strings.HasSuffix(line, "\r") || !isStandard(names[1]) {
		return ""
	}
	return names[1]
}
