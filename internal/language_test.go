package internal

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// isWhat matches comments such as "page is what ...", which do not say what a page is.
var isWhat = regexp.MustCompile(`// \w+ (is|are) what `)

// TestLanguage refuses the phrases in the first column of CONTRIBUTING.md's table "Instead of", and isWhat.
func TestLanguage(t *testing.T) {
	refused := append(refusedPhrases(t), isWhat)
	for path, text := range texts(t) {
		text = strings.ToLower(text)
		for _, phrase := range refused {
			for _, at := range phrase.FindAllStringIndex(text, -1) {
				if withinWord(text, at[0]) || withinWord(text, at[1]) {
					continue
				}
				t.Errorf("%s:%d: %q is refused; CONTRIBUTING.md, section Language, says what to write", path,
					strings.Count(text[:at[0]], "\n")+1, text[at[0]:at[1]])
			}
		}
	}
}

// withinWord reports whether the characters before and after a position are of one word.
func withinWord(text string, at int) bool {
	return wordChar.MatchString(text[max(at-1, 0):min(at+1, len(text))])
}

var wordChar = regexp.MustCompile(`^\w\w$`)

// space is white space within a text, which may continue on the next line of a comment.
const space = `(?: |\s*\n\s*(?:(?://|#) *)?)`

// refusedPhrases reads the table, so that CONTRIBUTING.md is the one place where they stand. Each expression begins with
// a text, which package regexp finds many times faster than a choice, or a boundary of words.
func refusedPhrases(t *testing.T) (phrases []*regexp.Regexp) {
	t.Helper()
	text := readText(t, "../CONTRIBUTING.md")
	_, rows, _ := strings.Cut(languageSection(text), tableHead)
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \|$`).FindAllStringSubmatch(rows, -1) {
		for phrase := range strings.SplitSeq(row[1], ", ") {
			phrases = append(phrases,
				regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(strings.ToLower(phrase)), " ", space)))
		}
	}
	if len(phrases) < 10 {
		t.Fatalf("read %d phrases from the table in CONTRIBUTING.md; keep its form", len(phrases))
	}
	return phrases
}

const tableHead = "| Instead of | Write |\n|---|---|\n"

// languageSection is the part of CONTRIBUTING.md that quotes what is refused.
func languageSection(text string) string {
	_, rest, _ := strings.Cut(text, "\n## Language\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	return section
}

// texts are the documents of the repository, and the comments and strings of its Go files on their lines.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	eachFile(t, func(path, name string) {
		switch {
		case name == "CONTRIBUTING.md":
			text := readText(t, path)
			all[name] = strings.Replace(text, languageSection(text), "", 1)
		case strings.HasSuffix(name, ".go"):
			all[name] = words(t, path)
		case slices.Contains([]string{".md", ".toml", ".txtar", ".html", ".yml", ".service"}, filepath.Ext(name)),
			name == "Makefile", strings.HasPrefix(name, ".ci/"), strings.HasSuffix(name, "openapi.json"):
			all[name] = readText(t, path)
		}
	})
	return all
}

// words are the comments and strings of a Go file on their lines.
func words(t *testing.T, path string) string {
	t.Helper()
	var b strings.Builder
	last := 1
	tokens(t, path, func(line int, kind token.Token, text string) {
		if kind == token.COMMENT || kind == token.STRING {
			b.WriteString(strings.Repeat("\n", max(line-last, 0)) + text + " ")
			last = max(line, last) + strings.Count(text, "\n")
		}
	})
	return b.String()
}

// tokens calls f for each token of a Go file, comments too.
func tokens(t *testing.T, path string, f func(line int, kind token.Token, text string)) {
	t.Helper()
	source := []byte(readText(t, path))
	set := token.NewFileSet()
	var s scanner.Scanner
	s.Init(set.AddFile(path, -1, len(source)), source, nil, scanner.ScanComments)
	for pos, kind, text := s.Scan(); kind != token.EOF; pos, kind, text = s.Scan() {
		f(set.Position(pos).Line, kind, text)
	}
}

// maxColumns is 120 with some tolerance for a word that does not fit. A tab counts as four columns.
const maxColumns = 125

func TestLineLength(t *testing.T) {
	eachFile(t, func(path, name string) {
		if !strings.HasSuffix(name, ".go") {
			return
		}
		raw := rawLines(t, path)
		for n, line := range strings.Split(readText(t, path), "\n") {
			columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if columns > maxColumns && !raw[n+1] {
				t.Errorf("%s:%d: %d columns; end lines at about 120", name, n+1, columns)
			}
		}
	})
}

// rawLines are the lines of raw strings, which cannot be broken.
func rawLines(t *testing.T, path string) map[int]bool {
	t.Helper()
	lines := map[int]bool{}
	tokens(t, path, func(line int, kind token.Token, text string) {
		if kind == token.STRING && strings.HasPrefix(text, "`") {
			for n := range strings.Count(text, "\n") + 1 {
				lines[line+n] = true
			}
		}
	})
	return lines
}

// eachFile calls f for the files of the repository: path from here, name from its root.
func eachFile(t *testing.T, f func(path, name string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		switch {
		case d.IsDir() && (name == ".git" || name == "bin"):
			return fs.SkipDir
		case d.Type().IsRegular():
			f(path, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
