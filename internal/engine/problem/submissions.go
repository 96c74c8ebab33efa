package problem

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"judged/internal/api"
)

// Submission is a solution of the jury with its expected results.
type Submission struct {
	Program
	Expected []Expectation
	// Lower means that the submission must be well below the time limit, Upper that it must be well above it.
	Lower, Upper bool
	Skip         bool     // do not run the submission
	full         *float64 // required score if only AC is expected; nil if unknown
	optedOut     bool     // by use_for_time_limit: false of a folder or a glob, which has no effect on others
}

// Expectation describes the verdicts that a submission must get. Verdicts are those of the CCS Contest API, or those of
// judged.
type Expectation struct {
	Tests     string   // glob of tests or groups; "" matches all
	Permitted []string // allowed verdicts of tests; nil means all
	Required  []string // at least one test must have one of these verdicts; nil means no requirement
	Final     []string // allowed verdicts of the submission; nil means all
	Score     *[2]float64
	Message   string // must be part of at least one message of the checker
}

// any reports whether a report can differ from the expectation.
func (e Expectation) any() bool {
	return e.Permitted != nil || len(e.Required) > 0 || e.Final != nil || e.Score != nil || e.Message != ""
}

// Expects reports whether any report can differ from what is expected of the submission.
func (s Submission) Expects() bool { return slices.ContainsFunc(s.Expected, Expectation.any) }

// bound is how a submission bounds the time limit.
type bound int

const (
	lower bound = iota + 1 // the submission must be well below the limit
	upper                  // the submission must be well above it
)

func rule(e Expectation, b bound) Submission {
	return Submission{Expected: []Expectation{e}, Lower: b == lower, Upper: b == upper}
}

// folderRules maps folders of submissions to expectations.
var folderRules = map[string]Submission{
	"accepted":            rule(Expectation{Permitted: []string{"AC"}}, lower),
	"partially_accepted":  rule(Expectation{Final: []string{"PC"}}, 0),
	"rejected":            rule(Expectation{Required: []string{"RTE", "TLE", "WA"}}, 0),
	"wrong_answer":        rule(Expectation{Permitted: []string{"AC", "WA"}, Required: []string{"WA"}}, lower),
	"time_limit_exceeded": rule(Expectation{Permitted: []string{"AC", "TLE"}, Required: []string{"TLE"}}, upper),
	"run_time_error":      rule(Expectation{Permitted: []string{"AC", "RTE"}, Required: []string{"RTE"}}, lower),
	"brute_force": rule(Expectation{Permitted: []string{"AC", "RTE", "TLE"}, Required: []string{"RTE",
		"TLE"}}, 0),
}

// legacyRules are the differing rules of legacy packages.
var legacyRules = map[string]Submission{
	"wrong_answer":        rule(Expectation{Final: []string{"WA"}}, 0),
	"time_limit_exceeded": rule(Expectation{Permitted: []string{"AC", "WA", "TLE"}, Required: []string{"TLE"}}, upper),
	"run_time_error":      rule(Expectation{Required: []string{"RTE"}}, 0),
	"slow_accepted":       rule(Expectation{Permitted: []string{"AC"}}, 0),
	// From DOMjudge.
	"run_error":      rule(Expectation{Required: []string{"RTE"}}, 0),
	"runtime_error":  rule(Expectation{Required: []string{"RTE"}}, 0),
	"timelimit":      rule(Expectation{Required: []string{"TLE"}}, upper),
	"compiler_error": rule(Expectation{Final: []string{"CE"}}, 0),
	"mixed":          {},
}

// submissionsFile contains expectations about submissions, in addition to those of their folders.
const submissionsFile = "submissions/submissions.yaml"

func (p *Package) readSubmissions(t *tree) error {
	overrides, err := t.settings(submissionsFile)
	if err != nil {
		return err
	}
	folders := map[string]bool{}
	for _, f := range t.under("submissions") {
		if folder, _, ok := strings.Cut(f.Name, "/"); ok {
			folders[folder] = true
		} else if name := "submissions/" + f.Name; !t.used[name] {
			p.find("%s is not used", name)
		}
	}
	rules := map[string]Submission{}
	var unknown []string
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		meaning, known := folderRules[folder]
		if legacy, ok := legacyRules[folder]; ok && p.Format == Legacy {
			meaning, known = legacy, true
		}
		if _, ok := overrides.keys[folder]; ok {
			known = true
			if err := meaning.override(p, overrides, folder); err != nil {
				return err
			}
		}
		if !known {
			unknown = append(unknown, folder)
		}
		rules[folder] = meaning
	}
	for folder, meaning := range rules {
		for _, program := range t.programs("submissions/" + folder) {
			s := meaning
			s.Program = program
			if p.SubmitAnswer {
				s.Files, s.Language = p.answers(program), answersLanguage
			}
			s.declare(meaning)
			s.Expected = slices.Clone(meaning.Expected)
			if err := s.readTags(p); err != nil {
				return err
			}
			p.Submissions = append(p.Submissions, s)
		}
	}
	if len(p.Submissions) > maxPrograms {
		return fmt.Errorf("%d submissions; use at most %d", len(p.Submissions), maxPrograms)
	}
	slices.SortFunc(p.Submissions, func(a, b Submission) int { return strings.Compare(a.Name, b.Name) })
	if err := p.readPatterns(t, overrides); err != nil {
		return err
	}
	p.findUnknownFolders(unknown)
	return nil
}

// findUnknownFolders adds findings for folders whose submissions have no expected result.
func (p *Package) findUnknownFolders(folders []string) {
	for _, s := range p.Submissions {
		folder := path.Base(path.Dir(s.Name))
		switch {
		case s.Expects():
		case slices.Contains(folders, folder):
			p.find("submissions/%s: unknown folder; its submissions are run but have no expected result", folder)
		default:
			p.find("%s has no expected result; it is run, and any verdict is as expected", s.Name)
		}
	}
}

// declare applies the settings of submissions.yaml to a submission.
func (s *Submission) declare(from Submission) {
	if from.Language != "" {
		s.Language = languageID(from.Language)
	}
	if from.Entry != "" {
		s.Entry = from.Entry
	}
}

// declaredEntry returns the file with the entry point according to submissions.yaml, which gives the name of the file
// or of its class.
func (p Program) declaredEntry() (*File, error) {
	class := p.Entry[strings.LastIndexByte(p.Entry, '.')+1:]
	for i, f := range p.Files {
		stem := strings.TrimSuffix(f.Name, path.Ext(f.Name))
		isClass := stem == class && (p.Language == "java" || p.Language == "kotlin") ||
			p.Language == "kotlin" && strings.EqualFold(stem+"Kt", class)
		if f.Name == p.Entry || isClass {
			return &p.Files[i], nil
		}
	}
	return nil, &ProgramError{p.Name, fmt.Sprintf("has no entry point %q; give one of its files in submissions.yaml, or "+
		"the class of a file with the same name", p.Entry)}
}

// readPatterns adds the expectations of submissions.yaml to the submissions that match them.
func (p *Package) readPatterns(t *tree, s *settings) error {
	left := maxAlternatives
	for _, pattern := range slices.Sorted(maps.Keys(s.keys)) {
		globs := globsOf(pattern, left)
		if left -= len(globs); left <= 0 {
			return fmt.Errorf("read %s: more than %d globs; use fewer and wider ones", s.file, maxAlternatives)
		}
		matched := false
		for i := range p.Submissions {
			if err := t.ctx.Err(); err != nil {
				return err
			}
			if !globs.match(strings.TrimPrefix(p.Submissions[i].Name, "submissions/")) {
				continue
			}
			matched = true
			more := Submission{Lower: p.Submissions[i].Lower, Upper: p.Submissions[i].Upper}
			copied := *s
			copied.keys = map[string]yaml.Node{pattern: s.keys[pattern]}
			if err := more.override(p, &copied, pattern); err != nil {
				return err
			}
			x := &p.Submissions[i]
			x.Expected, x.Lower, x.Upper = append(x.Expected, more.Expected...), more.Lower, more.Upper
			x.optedOut = x.optedOut || more.optedOut
			x.declare(more)
		}
		if !matched {
			p.find("%s: no submission matches %q", s.file, pattern)
		}
	}
	for _, x := range p.Submissions {
		if x.optedOut && (x.Lower || x.Upper) {
			p.find("%s bounds the time limit although a glob sets %s: false, by another glob or its folder; set it for "+
				"that one, too", x.Name, useForTimeLimit)
		}
	}
	return nil
}

// override decodes and removes a key of submissions.yaml.
func (s *Submission) override(p *Package, from *settings, key string) error {
	m := from.mapping(key)
	all := Expectation{}
	if len(s.Expected) == 1 {
		all = s.Expected[0]
		if use, given := m.keys[useForTimeLimit]; p.Format != Legacy || given && use.Value != "true" {
			s.Lower, s.Upper = false, false // derived from the new expectation
		}
	}
	if m.decode("language", &s.Language) {
		p.declared = append(p.declared, s.Language)
	}
	m.decode("entrypoint", &s.Entry)
	model := false
	m.decode("model_solution", &model)
	m.ignore("authors")
	s.expect(p, m, &all)
	s.Expected = []Expectation{all}
	for _, pattern := range slices.Sorted(maps.Keys(m.keys)) {
		if m.keys[pattern].Kind != yaml.MappingNode {
			m.fail(pattern, "unknown key; use permitted, required, score, message and use_for_time_limit, also below a "+
				"glob of tests")
			continue
		}
		nested := m.mapping(pattern)
		e := Expectation{Tests: pattern}
		s.expect(p, nested, &e)
		if len(nested.keys) > 0 {
			nested.fail(pattern, "unknown keys")
		}
		if m.err == nil {
			m.err = nested.err
		}
		s.Expected = append(s.Expected, e)
	}
	return errors.Join(from.err, m.err)
}

func (s *Submission) expect(p *Package, m *settings, e *Expectation) {
	for _, key := range []string{"permitted", "required", "message"} {
		if n, ok := m.keys[key]; ok && n.Tag == "!!null" {
			m.fail(key, "has no value; give one, or remove the key")
		}
	}
	for key, to := range map[string]*[]string{"permitted": &e.Permitted, "required": &e.Required} {
		m.decode(key, to)
		for _, word := range *to {
			if !slices.ContainsFunc(api.Verdicts(), func(v api.Meaning) bool { return v.Word == word }) {
				m.fail(key, "%q is not a verdict; use AC, WA, TLE or RTE", word)
			}
		}
	}
	m.decode("message", &e.Message)
	if n, ok := m.keys["score"]; ok {
		var score [2]float64
		if n.Tag == "!!null" {
			m.fail("score", "has no value; give a score, or the smallest and the largest one")
		}
		if n.Kind == yaml.ScalarNode {
			m.decode("score", &score[0])
			score[1] = score[0]
		} else {
			m.decode("score", &score)
		}
		if !(score[0] <= score[1]) {
			m.fail("score", "%v to %v is not a range; give the smallest score first", score[0], score[1])
		}
		e.Score = &score
	}
	s.boundTimeLimit(p, m, *e)
}

const useForTimeLimit = "use_for_time_limit"

// boundTimeLimit sets how a submission bounds the time limit by this expectation, in addition to others. In legacy packages
// without use_for_time_limit, that follows from the folder.
func (s *Submission) boundTimeLimit(p *Package, m *settings, e Expectation) {
	const key = useForTimeLimit
	use := "true"
	if n, ok := m.keys[key]; ok {
		m.ignore(key)
		use = n.Value
	}
	switch {
	case use != "true" && use != "false" && use != "lower" && use != "upper":
		m.fail(key, "%q is unknown; use true, false, lower or upper", use)
	case e.Tests != "":
		if use == "lower" || use == "upper" {
			p.unsupported("%s of some of the tests; a submission bounds the time limit with all tests", key)
		}
	case use != "true":
		s.Lower, s.Upper, s.optedOut = s.Lower || use == "lower", s.Upper || use == "upper", s.optedOut || use == "false"
	case p.Format != Legacy:
		s.Lower = s.Lower || e.Permitted != nil && !slices.Contains(e.Permitted, "TLE")
		s.Upper = s.Upper || slices.Equal(e.Required, []string{"TLE"})
	}
}

// Match reports whether a glob of submissions.yaml matches a path or one of the folders that contain it. A * matches
// any characters except /; {a,b} is an alternative.
func Match(pattern, name string) bool { return globsOf(pattern, maxAlternatives).match(name) }

// globs are the alternatives of a glob of submissions.yaml in the syntax of package path.
type globs []string

func globsOf(pattern string, most int) globs {
	all := alternatives(pattern, most)
	for i, p := range all {
		all[i] = escapeGlob.Replace(p)
	}
	return all
}

// match is Match.
func (g globs) match(name string) bool {
	for n := name; n != "." && n != "/"; n = path.Dir(n) {
		if g.matchName(n) {
			return true
		}
	}
	return false
}

// matchName reports whether one of the globs matches the path itself.
func (g globs) matchName(name string) bool {
	return slices.ContainsFunc(g, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// maxAlternatives is the maximum number of globs that the braces of one glob, and of all globs of a file, expand to.
const maxAlternatives = 1000

// alternatives expands braces, up to the given number of globs. Space around an alternative does not count, as for
// BAPCtools.
func alternatives(pattern string, most int) []string {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}
	}
	length := strings.IndexByte(pattern[open:], '}')
	if length < 0 {
		return []string{pattern}
	}
	var all []string
	for _, rest := range alternatives(pattern[open+length+1:], most) {
		for choice := range strings.SplitSeq(pattern[open+1:open+length], ",") {
			if len(all) == most {
				return all
			}
			all = append(all, pattern[:open]+strings.TrimSpace(choice)+rest)
		}
	}
	return all
}

// escapeGlob quotes characters that are special in path.Match but not in the format.
var escapeGlob = strings.NewReplacer("[", `\[`, "?", `\?`, `\`, `\\`)
