package problem

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// knownTop are the files and folders of the formats of ICPC and Kattis, including those that do not affect judging.
var knownTop = strings.Fields(ownFile + " problem.yaml " + domjudgeFile + " " + timeLimitFile + " data submissions " +
	"include input_validators input_format_validators output_validator output_validators output_visualizer " +
	"input_visualizer answer_validators static_validator graders generators statement problem_statement solution " +
	"attachments problem.pdf problem.html problem.txt")

// forReaders are common files next to the settings of any format.
var forReaders = strings.Fields(ownFile + " README README.md LICENSE LICENSE.md Makefile problem.pdf")

// forPeople are the extensions of files next to tests that do not affect judging.
var forPeople = []string{".hint", ".desc", ".png", ".jpg", ".jpeg", ".svg", ".md", ".interaction", ".statement",
	".download"}

// Up to maxEach unused files of a folder have a finding each. Of more files, a single one names up to maxNamed.
const (
	maxEach  = 5
	maxNamed = 10
)

// findUnused adds findings for files that a setter may expect to be used, such as tests without an answer or with an
// unknown extension: a submission is not tested with them. The findings say that they are "not used", or more in other
// words. isKnown reports whether a file is one of the format that does not affect judging.
func (p *Package) findUnused(t *tree, notUsed string, isKnown func(name string) bool) {
	unused := map[string][]string{}
	for _, name := range t.names {
		if !t.used[name] && !slices.Contains(forReaders, name) && !isKnown(name) {
			folder, rest, inFolder := strings.Cut(name, "/")
			if !inFolder {
				folder, rest = "", name
			}
			unused[folder] = append(unused[folder], rest)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(unused)) {
		p.findFiles(folder, notUsed, unused[folder])
	}
}

// findFiles adds findings for files of a folder.
func (p *Package) findFiles(folder, notUsed string, names []string) {
	n := len(names)
	if n <= maxEach {
		for _, name := range names {
			p.find("%s is %s", path.Join(folder, name), notUsed)
		}
		return
	}
	more, where := "", "of "+folder+"/"
	if folder == "" {
		where = "at the top"
	}
	if n > maxNamed {
		names, more = names[:maxNamed], fmt.Sprintf(" and %d more", n-maxNamed)
	}
	p.find("%d files %s are %s: %s%s", n, where, notUsed, strings.Join(names, ", "), more)
}

// isOfKattis reports whether a file of an ICPC or Kattis package affects no judging, or is in a folder of programs.
func (t *tree) isOfKattis(name string) bool {
	top, rest, inFolder := strings.Cut(name, "/")
	switch {
	case isStatement(name):
		return true
	case !slices.Contains(knownTop, top):
		return false
	case top == "data":
		isGenerator := !strings.Contains(rest, "/") && languageByEnding[path.Ext(rest)] != ""
		return isGenerator || t.isOfTest(name)
	case top == "include": // its files are in folders
		return !inFolder || strings.Contains(rest, "/")
	}
	return true
}

// isStatement reports whether a file at the top is a statement in a language, such as problem.en.pdf of BAPCtools.
func isStatement(name string) bool {
	is, err := path.Match("problem.*.pdf", name)
	return is && err == nil
}

// isOfTest reports whether a file below data is for people and belongs to a test, such as 1.hint next to 1.in. Samples may
// have such files alone.
func (t *tree) isOfTest(name string) bool {
	stem, ending := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)
	shown := ending == ".interaction"
	if ending == ".statement" || ending == ".download" { // 1.in.statement
		shown, stem = true, strings.TrimSuffix(stem, path.Ext(stem))
	}
	switch {
	case ending == ".md":
		return path.Base(name) == "README.md"
	case shown && strings.HasPrefix(name, "data/sample/"):
		return true
	}
	return isForPeople(name) && t.has(stem+inputSuffix)
}

func isForPeople(name string) bool {
	return slices.Contains(forPeople, path.Ext(name))
}
