package runtimes

import (
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
)

// wanted returns Program.Wanted.
func wanted(f io.ReaderAt) string {
	if line, ok := scriptLine(f); ok {
		// The kernel ends the name at a blank. A line with Windows line endings names a file that ends in CR.
		name, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimLeft(line, " \t"), "\t", " "), " ")
		switch {
		case !slices.Contains(binFolders[:], path.Dir(name)) || !standard.MatchString(path.Base(name)):
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
var standard = regexp.MustCompile(
	`^(env|sh|bash|dash|zsh|python|pypy|perl|ruby|node|nodejs|php|lua|luajit|awk|gawk|java|mono|dotnet|Rscript|julia|guile|racket|sbcl|ocaml|runghc|runhaskell|elixir|escript|kotlin|scala|groovy|tclsh|octave)[0-9.]*$`)

// loaders are the loaders of the usual C libraries for Linux.
var loaders = [...]string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1",
	"/lib/ld-musl-aarch64.so.1"}

// throughEnv returns the name that env looks up.
func throughEnv(f io.ReaderAt, line string) string {
	names := readInterpreters(f)
	if len(names) != 2 || strings.HasSuffix(line, "\r") || !standard.MatchString(names[1]) {
		return ""
	}
	return names[1]
}
