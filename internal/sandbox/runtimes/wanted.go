package runtimes

import (
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Wanted is the interpreter or loader that the file of a submission is executed by,
// if it is one that a host for judging is to have: a path, or behind env a name to be
// looked up; "" is none. The others that a
// contestant may name, by mistake or not, are nobody's to install.
func Wanted(file string) string {
	f := openRegular(file)
	if f == nil {
		return ""
	}
	defer f.Close()
	if line, ok := scriptLine(f); ok {
		// The kernel ends the name at a blank. A line of Windows has one that ends in CR.
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

// binFolders are where #! lines look for interpreters.
var binFolders = [...]string{"/bin", "/usr/bin", "/usr/local/bin"}

// standard are the names of interpreters of languages that contests have, with a
// version or without.
var standard = regexp.MustCompile(`^(env|sh|bash|dash|zsh|python|pypy|perl|ruby|node|nodejs|php|lua|luajit|awk|gawk|java|mono|dotnet|Rscript|julia|guile|racket|sbcl|ocaml|runghc|runhaskell|elixir|escript|kotlin|scala|groovy|tclsh|octave)[0-9.]*$`)

// loaders are those of the C libraries that programs for Linux are built for.
var loaders = [...]string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"}

// throughEnv is the name that env looks up.
func throughEnv(f io.ReaderAt, line string) string {
	names := readInterpreters(f)
	if len(names) != 2 || strings.HasSuffix(line, "\r") || !standard.MatchString(names[1]) {
		return ""
	}
	return names[1]
}
