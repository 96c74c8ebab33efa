package judge0

import (
	"context"
	"fmt"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
)

// A language maps a language number of Judge0 to a language of judged. Sites store the numbers in their own database,
// so the numbers keep their meaning. The version in the name is that of the host.
type language struct {
	number int
	name   string // name of the language in Judge0
	tool   string // precedes the version in the name
	id     string // ID in judged; "" means that a command runs the source
	source string // name of the source file as Judge0 shows it
}

// The numbers of languages with special treatment.
const (
	plainText  = 43
	executable = 44
	multiFile  = 89
)

// languages are all languages of Judge0 1.13.1. An empty ID without an entry in commands means that judged does not
// have the language.
var languages = []language{
	{plainText, "Plain Text", "", "", "text.txt"},
	{executable, "Executable", "", "", "a.out"},
	{45, "Assembly", "NASM ", "nasm", "main.asm"},
	{46, "Bash", "", "bash", "script.sh"},
	{47, "Basic", "FBC ", "basic", "main.bas"},
	{48, "C", "GCC ", "c", "main.c"},
	{49, "C", "GCC ", "c", "main.c"},
	{50, "C", "GCC ", "c", "main.c"},
	{51, "C#", "Mono ", "csharp", "Main.cs"},
	{52, "C++", "GCC ", "cpp", "main.cpp"},
	{53, "C++", "GCC ", "cpp", "main.cpp"},
	{54, "C++", "GCC ", "cpp", "main.cpp"},
	{55, "Common Lisp", "SBCL ", "lisp", "script.lisp"},
	{56, "D", "", "d", "main.d"},
	{57, "Elixir", "", "elixir", "script.exs"},
	{58, "Erlang", "OTP ", "erlang", "main.erl"},
	{59, "Fortran", "GFortran ", "fortran", "main.f90"},
	{60, "Go", "", "go", "main.go"},
	{61, "Haskell", "GHC ", "haskell", "main.hs"},
	{62, "Java", "OpenJDK ", "java", "Main.java"},
	{63, "JavaScript", "Node.js ", "javascript", "script.js"},
	{64, "Lua", "", "lua", "script.lua"},
	{65, "OCaml", "", "ocaml", "main.ml"},
	{66, "Octave", "", "octave", "script.m"},
	{67, "Pascal", "FPC ", "pascal", "main.pas"},
	{68, "PHP", "", "php", "script.php"},
	{69, "Prolog", "", "prolog", "main.pro"},
	{70, "Python", "", "python2", "script.py"},
	{71, "Python", "", "python", "script.py"},
	{72, "Ruby", "", "ruby", "script.rb"},
	{73, "Rust", "", "rust", "main.rs"},
	{74, "TypeScript", "", "typescript", "script.ts"},
	{75, "C", "Clang ", "c-clang", "main.c"},
	{76, "C++", "Clang ", "cpp-clang", "main.cpp"},
	{77, "COBOL", "GnuCOBOL ", "cobol", "main.cob"},
	{78, "Kotlin", "", "kotlin", "Main.kt"},
	{79, "Objective-C", "", "objc", "main.m"},
	{80, "R", "", "r", "script.r"},
	{81, "Scala", "", "scala", "Main.scala"},
	{82, "SQL", "SQLite ", "sqlite", "script.sql"},
	{83, "Swift", "", "swift", "Main.swift"},
	{84, "Visual Basic.Net", "", "vbnet", "Main.vb"},
	{85, "Perl", "", "perl", "script.pl"},
	{86, "Clojure", "", "clojure", "main.clj"},
	{87, "F#", "", "fsharp", "script.fsx"},
	{88, "Groovy", "", "groovy", "script.groovy"},
	{multiFile, "Multi-file program", "", "project", ""},
}

// commands maps languages without an ID to the command that runs the source.
var commands = map[int][]string{
	plainText:  {"cat", "{program}"},
	executable: {"{program}"},
}

// shown is a language in a list.
type shown struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Archived *bool  `json:"is_archived,omitempty"`
}

// detailed is a single language with all members.
type detailed struct {
	shown
	Source  *string `json:"source_file"`
	Compile *string `json:"compile_cmd"`
	Run     *string `json:"run_cmd"`
}

// find returns the language with a number.
func find(number int) (language, bool) {
	i := slices.IndexFunc(languages, func(l language) bool { return l.number == number })
	if i < 0 {
		return language{}, false
	}
	return languages[i], true
}

// catalogue is the status of the languages on the host or in the fleet.
type catalogue map[string]api.LanguageStatus

// catalogueAge is how long a catalogue is cached, because reading it searches for the programs of every language.
const catalogueAge = 10 * time.Second

// catalogue returns the status of the languages, possibly from the cache.
func (h *handler) catalogue(ctx context.Context) (catalogue, error) {
	return h.known.Get(ctx, h.desk.Now, catalogueAge, func(ctx context.Context) (catalogue, error) {
		all, err := h.desk.Languages(ctx)
		if err != nil {
			return nil, err
		}
		c := catalogue{}
		for _, l := range all {
			c[l.ID] = l
		}
		return c, nil
	})
}

// has reports whether a language is available.
func (c catalogue) has(l language) bool { return l.id == "" || c[l.id].Available }

// show returns a language as lists show it.
func (c catalogue) show(l language) shown {
	name := l.name
	if v := versionText().FindString(c[l.id].Version); v != "" && l.number != multiFile {
		name = fmt.Sprintf("%s (%s%s)", l.name, l.tool, v)
	}
	return shown{ID: l.number, Name: name}
}

// versionText matches a version in the first line of a compiler's output.
var versionText = text.Pattern(`[0-9]+(\.[0-9]+)+`)
