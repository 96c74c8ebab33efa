package problem

import (
	"path"
	"slices"
	"strings"
)

// knownTop are the files and folders of the formats, including those that do not affect judging, and other common
// names.
var knownTop = strings.Fields(ownFile + " problem.yaml " + domjudgeFile + " " + timeLimitFile + " data submissions " +
	"include input_validators input_format_validators output_validator output_validators output_visualizer " +
	"input_visualizer answer_validators static_validator graders generators statement problem_statement solution " +
	"attachments problem.pdf problem.html problem.txt README README.md LICENSE LICENSE.md Makefile")

// forPeople are the extensions of files next to tests that do not affect judging.
var forPeople = []string{".hint", ".desc", ".png", ".jpg", ".jpeg", ".svg", ".md", ".interaction", ".statement",
	".download"}

// maxUnused is the maximum number of findings about unused files.
const maxUnused = 20

// findUnused adds findings for files that a setter may expect to be used, such as tests without an answer or with an
// unknown extension: a submission is not tested with them.
func (p *Package) findUnused(t *tree) {
	n := 0
	for _, name := range t.names {
		if isUsed(t, name) {
			continue
		}
		if n++; n > maxUnused {
			p.find("further files are not used")
			return
		}
		p.find("%s is not used", name)
	}
}

// isUsed reports whether judged uses a file, or whether it is a file of the format that does not affect judging.
func isUsed(t *tree, name string) bool {
	top, rest, inFolder := strings.Cut(name, "/")
	switch {
	case !slices.Contains(knownTop, top):
		return false
	case top == "data":
		return t.used[name] || isForPeople(name)
	case top == "include": // its files are in folders
		return !inFolder || strings.Contains(rest, "/")
	}
	return true
}

func isForPeople(name string) bool {
	return slices.Contains(forPeople, path.Ext(name))
}
