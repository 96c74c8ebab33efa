package problem

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/text"
)

// layout is a naming scheme for the files of tests. Patterns match paths without a leading slash.
type layout struct {
	input   *regexp.Regexp
	name    string   // name of the test, made of parts of the input's path
	answers []string // paths of answers, made of parts of the input's path; the first one that exists is used
	// answer matches paths that can only be the answer of an input; nil if other files may have such names.
	answer *regexp.Regexp
	// optional means that a file is only an input if it has an answer.
	optional bool
}

// layouts are the known layouts. The first one that matches the name of a file is used.
var layouts = []layout{
	{input: regexp.MustCompile(`^(.*)\.in$`), name: "$1", answers: []string{"$1.ans", "$1.a", "$1.out"},
		answer: regexp.MustCompile(`\.ans$`)},
	{input: regexp.MustCompile(`^(.*)\.in\.([^/]+)$`), name: "$1.$2", answers: []string{"$1.ans.$2", "$1.a.$2", "$1.out.$2"},
		answer: regexp.MustCompile(`\.(ans|out)\.[^/]+$`)},
	{input: regexp.MustCompile(`^((?:.*/)?)I\.([^/]+)$`), name: "$1$2", answers: []string{"$1O.$2"},
		answer: regexp.MustCompile(`(^|/)O\.[^/]+$`)},
	{input: regexp.MustCompile(`^((?:.*/)?)input/(?:input)?([^/]*?)(\.[^/.]*)?$`), name: "$1$2",
		answers: []string{"$1output/$2$3", "$1output/output$2$3", "$1output/$2.out", "$1output/$2.ans"},
		answer:  regexp.MustCompile(`(^|/)output/[^/]+$`)},
	{input: regexp.MustCompile(`^((?:.*/)?)input([^/]*?)(\.[^/.]*)?$`), name: "$1$2", answers: []string{"$1output$2$3"},
		answer: regexp.MustCompile(`(^|/)output[^/]*$`)},
	{input: regexp.MustCompile(`^([^.]*[^./])$`), name: "$1", answers: []string{"$1.a"}, optional: true}, // Polygon
}

// answerFolders maps folders of inputs to those of their answers.
var answerFolders = map[string][]string{"in": {"out", "ans"}, "input": {"output", "answer"},
	"inputs": {"outputs", "answers"}}

// pair finds the tests among the paths of files. The name of a test is the last part of its path, or the whole path if
// the last parts are not unique.
func pair(names []string, interactive bool) ([]Test, error) {
	p := pairing{files: map[string]bool{}, byBase: map[string][]string{}, inputs: map[string]int{}}
	for _, n := range names {
		p.files[n] = true
		p.byBase[path.Base(n)] = append(p.byBase[path.Base(n)], n)
		if l, _ := layoutOf(n); l != nil {
			p.inputs[path.Base(n)]++
		}
	}
	used := map[string]bool{}
	u := uses{files: used, layouts: map[*layout]bool{}, endings: map[string]bool{}}
	var tests []Test
	for _, n := range names {
		l, parts := layoutOf(n)
		if l == nil {
			continue
		}
		answer := p.answerOf(l, n, parts)
		if answer == "" && l.optional {
			continue
		}
		used[n], used[answer], u.layouts[l], u.endings[folderAndEnding(answer)] = true, true, true, true
		tests = append(tests, Test{Name: expand(l, l.name, n, parts), Input: n, Answer: answer})
	}
	if err := checkPairs(tests, interactive); err != nil {
		return nil, err
	}
	for _, n := range names {
		if err := u.checkLeft(n); err != nil {
			return nil, err
		}
	}
	shorten(tests)
	slices.SortFunc(tests, func(a, b Test) int { return text.Natural(a.Name, b.Name) })
	for i := 1; i < len(tests); i++ {
		if tests[i].Name == tests[i-1].Name {
			return nil, fmt.Errorf("%q and %q are inputs of the same test %q; rename one of them", tests[i-1].Input,
				tests[i].Input, tests[i].Name)
		}
	}
	return tests, nil
}

// pairing holds the files among which answers are found.
type pairing struct {
	files  map[string]bool
	byBase map[string][]string // paths by last element
	inputs map[string]int      // number of inputs by the last element of their paths
}

// layoutOf returns the layout in which a path is an input, and the positions of its parts.
func layoutOf(name string) (*layout, []int) {
	for i := range layouts {
		if parts := layouts[i].input.FindStringSubmatchIndex(name); parts != nil {
			return &layouts[i], parts
		}
	}
	return nil, nil
}

func expand(l *layout, template, name string, parts []int) string {
	return string(l.input.ExpandString(nil, strings.NewReplacer("$1", "${1}", "$2", "${2}", "$3", "${3}").Replace(template),
		name, parts))
}

// answerOf returns the answer of an input: next to it, in the folder of answers next to its folder, or elsewhere if
// only one file and only one input match. It returns "" if there is no answer.
func (p pairing) answerOf(l *layout, input string, parts []int) string {
	var candidates []string
	for _, template := range l.answers {
		candidates = append(candidates, expand(l, template, input, parts))
	}
	for _, c := range candidates {
		if p.files[c] && c != input {
			return c
		}
	}
	dir := path.Dir(input)
	for _, folder := range answerFolders[path.Base(dir)] {
		for _, c := range candidates {
			if c = path.Join(path.Dir(dir), folder, path.Base(c)); p.files[c] {
				return c
			}
		}
	}
	for _, c := range candidates {
		all := p.byBase[path.Base(c)]
		if len(all) == 1 && all[0] != input && p.inputs[path.Base(input)] == 1 && !l.optional {
			return all[0]
		}
	}
	return ""
}

// checkPairs returns an error if a test has no answer, unless an interactor judges and no test has one, or if two tests
// have the same answer.
func checkPairs(tests []Test, interactive bool) error {
	if len(tests) == 0 {
		return errors.New("no tests found; add NAME.in and NAME.ans")
	}
	var unanswered []string
	for _, t := range tests {
		if t.Answer == "" {
			unanswered = append(unanswered, t.Input)
		}
	}
	if n := len(unanswered); n > 0 && (n < len(tests) || !interactive) {
		return noAnswers(unanswered)
	}
	byAnswer := map[string]string{}
	for _, t := range tests {
		if other := byAnswer[t.Answer]; t.Answer != "" && other != "" {
			return fmt.Errorf("inputs %q and %q have the same answer %q; add an answer for each", other, t.Input, t.Answer)
		}
		byAnswer[t.Answer] = t.Input
	}
	return nil
}

// noAnswers returns the error for inputs without an answer, which names the first ones.
func noAnswers(inputs []string) error {
	add := strings.TrimSuffix(inputs[0], inputSuffix) + ".ans"
	if len(inputs) == 1 {
		return fmt.Errorf("input %q has no answer; add %s", inputs[0], add)
	}
	var first []string
	for _, name := range inputs[:min(len(inputs), maxEach)] {
		first = append(first, strconv.Quote(name))
	}
	more := ""
	if n := len(inputs) - len(first); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%d inputs have no answer: %s%s; add %s and the others", len(inputs), strings.Join(first, ", "), more,
		add)
}

// uses holds the files of tests, their layouts, and the folders of answers with their extensions.
type uses struct {
	files   map[string]bool
	layouts map[*layout]bool
	endings map[string]bool
}

func folderAndEnding(answer string) string { return path.Join(path.Dir(answer), "*"+path.Ext(answer)) }

// checkLeft returns an error for a file that looks like part of a test but is not used, so that no test is silently
// ignored.
func (u uses) checkLeft(name string) error {
	used := u.files
	if used[name] {
		return nil
	}
	// A .out or .a is an answer if others in its folder are. a.out is what compilers write.
	orphan := u.endings[folderAndEnding(name)] && slices.Contains([]string{".out", ".a"}, path.Ext(name)) &&
		path.Base(name) != "a.out"
	for i := range layouts {
		l := &layouts[i]
		if i == 0 && orphan || l.answer != nil && (i == 0 || u.layouts[l]) && l.answer.MatchString(name) {
			other := slices.ContainsFunc(layouts[0].answers, func(template string) bool {
				stem, isAnswer := strings.CutSuffix(name, strings.TrimPrefix(template, "$1"))
				return isAnswer && used[stem+inputSuffix] // another answer of a test that already has one
			})
			if !other {
				return fmt.Errorf("answer %q has no input; add %s, or remove it", name,
					strings.TrimSuffix(name, path.Ext(name))+inputSuffix)
			}
		}
	}
	lower := strings.ToLower(name)
	if name != lower && (strings.HasSuffix(lower, inputSuffix) || strings.HasSuffix(lower, ".ans")) {
		if strings.HasSuffix(name, inputSuffix) || strings.HasSuffix(name, ".ans") {
			return nil
		}
		return fmt.Errorf("%q would not be used; rename it to NAME.in or NAME.ans", name)
	}
	return nil
}

// shorten removes the folders from names that are unique without them.
func shorten(tests []Test) {
	count := map[string]int{}
	for _, t := range tests {
		count[path.Base(t.Name)]++
	}
	for i, t := range tests {
		if base := path.Base(t.Name); count[base] == 1 {
			tests[i].Name = base
		}
	}
}
