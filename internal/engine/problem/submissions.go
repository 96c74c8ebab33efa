package problem

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"judged/internal/base/job"
)

// Submission is a solution of the jury, with what is expected of it.
type Submission struct {
	Program
	Expected []Expectation
	// Lower says that it must be well within the time limit, Upper that it must be well over it.
	Lower, Upper bool
	Skip         bool // it is not to be run
}

// Expectation is what the verdicts of a submission have to be. Verdicts are those of the CCS Contest API, or judged's own.
type Expectation struct {
	Tests     string   // glob of the tests or groups that it is about; "" is all
	Permitted []string // verdicts that tests may have; nil is any
	Required  []string // verdicts of which at least one test has one; nil requires nothing
	Final     []string // verdicts that the submission may have; nil is any
	Score     *[2]float64
	Message   string // part of at least one message of the checker
}

// bound is how a submission bounds the time limit.
type bound int

const (
	lower bound = iota + 1 // it must be well within the limit
	upper                  // it must be well over it
)

func rule(e Expectation, b bound) Submission {
	return Submission{Expected: []Expectation{e}, Lower: b == lower, Upper: b == upper}
}

// folderRules are the meanings of folders of submissions.
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

// legacyRules are those of legacy packages, where they differ.
var legacyRules = map[string]Submission{
	"wrong_answer":        rule(Expectation{Final: []string{"WA"}}, 0),
	"time_limit_exceeded": rule(Expectation{Permitted: []string{"AC", "WA", "TLE"}, Required: []string{"TLE"}}, upper),
	"run_time_error":      rule(Expectation{Required: []string{"RTE"}}, 0),
	"slow_accepted":       rule(Expectation{Permitted: []string{"AC"}}, 0),
	// DOMjudge's.
	"run_error":      rule(Expectation{Required: []string{"RTE"}}, 0),
	"runtime_error":  rule(Expectation{Required: []string{"RTE"}}, 0),
	"timelimit":      rule(Expectation{Required: []string{"TLE"}}, upper),
	"compiler_error": rule(Expectation{Final: []string{"CE"}}, 0),
	"mixed":          {},
}

func (p *Package) readSubmissions(t *tree) error {
	overrides, err := t.settings("submissions/submissions.yaml")
	if err != nil {
		return err
	}
	folders := map[string]bool{}
	for _, f := range t.under("submissions") {
		if folder, _, ok := strings.Cut(f.Name, "/"); ok {
			folders[folder] = true
		}
	}
	rules := map[string]Submission{}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		meaning, known := folderRules[folder]
		if legacy, ok := legacyRules[folder]; ok && p.Format == Legacy {
			meaning, known = legacy, true
		}
		if _, ok := overrides.keys[folder]; ok {
			known = true
			if err := meaning.override(overrides, folder); err != nil {
				return err
			}
		}
		if !known {
			p.find("submissions/%s: unknown folder; its submissions are run, and nothing is expected of them", folder)
		}
		rules[folder] = meaning
	}
	for folder, meaning := range rules {
		for _, program := range t.programs("submissions/" + folder) {
			s := meaning
			s.Program = program
			if meaning.Language != "" {
				s.Language = languageID(meaning.Language)
			}
			s.Expected = slices.Clone(meaning.Expected)
			if err := s.readTags(); err != nil {
				return err
			}
			p.Submissions = append(p.Submissions, s)
		}
	}
	slices.SortFunc(p.Submissions, func(a, b Submission) int { return strings.Compare(a.Name, b.Name) })
	return p.readPatterns(overrides)
}

// readPatterns adds the expectations of submissions.yaml to the submissions that they match.
func (p *Package) readPatterns(s *settings) error {
	for _, pattern := range slices.Sorted(maps.Keys(s.keys)) {
		matched := false
		for i := range p.Submissions {
			name := strings.TrimPrefix(p.Submissions[i].Name, "submissions/")
			if !Match(pattern, name) {
				continue
			}
			matched = true
			more := Submission{Lower: p.Submissions[i].Lower, Upper: p.Submissions[i].Upper}
			copied := settings{file: s.file, keys: map[string]yaml.Node{pattern: s.keys[pattern]}}
			if err := more.override(&copied, pattern); err != nil {
				return err
			}
			x := &p.Submissions[i]
			x.Expected, x.Lower, x.Upper = append(x.Expected, more.Expected...), more.Lower, more.Upper
			if more.Language != "" {
				x.Language = languageID(more.Language)
			}
		}
		if !matched {
			p.find("%s: no submission matches %q", s.file, pattern)
		}
	}
	return nil
}

// override reads what submissions.yaml says for a key, and takes it.
func (s *Submission) override(from *settings, key string) error {
	m := from.mapping(key)
	all := Expectation{}
	if len(s.Expected) == 1 {
		all = s.Expected[0]
	}
	m.take("language", &s.Language)
	m.drop("entrypoint", "authors", "model_solution")
	s.expect(m, &all)
	s.Expected = []Expectation{all}
	for _, pattern := range slices.Sorted(maps.Keys(m.keys)) {
		nested := m.mapping(pattern)
		e := Expectation{Tests: pattern}
		s.expect(nested, &e)
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

func (s *Submission) expect(m *settings, e *Expectation) {
	m.take("permitted", &e.Permitted)
	m.take("required", &e.Required)
	m.take("message", &e.Message)
	if n, ok := m.keys["score"]; ok {
		var score [2]float64
		if n.Kind == yaml.ScalarNode {
			m.take("score", &score[0])
			score[1] = score[0]
		} else {
			m.take("score", &score)
		}
		e.Score = &score
	}
	if n, ok := m.keys["use_for_time_limit"]; ok {
		m.drop("use_for_time_limit")
		s.Lower, s.Upper = n.Value == "lower" || n.Value == "true", n.Value == "upper"
	}
}

// Match reports whether a glob of submissions.yaml matches a path or one of the folders that contain it. A * matches within
// a name; {a,b} is an alternative.
func Match(pattern, name string) bool {
	for _, p := range alternatives(pattern, maxAlternatives) {
		for n := name; n != "." && n != "/"; n = path.Dir(n) {
			if ok, err := path.Match(escapeGlob(p), n); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// maxAlternatives bounds what the braces of one glob expand to.
const maxAlternatives = 1000

// alternatives expands braces, to at most the given number of globs.
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
			all = append(all, pattern[:open]+choice+rest)
		}
	}
	return all
}

// escapeGlob quotes what path.Match knows and the format does not.
func escapeGlob(p string) string {
	return strings.NewReplacer("[", `\[`, "?", `\?`, `\`, `\\`).Replace(p)
}

// maxTagged is how much of a source is searched for tags, in bytes.
const maxTagged = 64 << 10

var (
	resultsTag = regexp.MustCompile(`@EXPECTED_RESULTS@: *([A-Z_, -]+)`)
	scoreTag   = regexp.MustCompile(`@EXPECTED_SCORE@: *([0-9.]+)`)
)

// domjudgeResults are the words of @EXPECTED_RESULTS@.
var domjudgeResults = map[string]string{
	"CORRECT": "AC", "ACCEPTED": "AC", "WRONG-ANSWER": "WA", "NO-OUTPUT": "WA", "OUTPUT-LIMIT": "WA",
	"TIMELIMIT": "TLE", "TIME_LIMIT_EXCEEDED": "TLE", "RUN-ERROR": "RTE", "RUN_TIME_ERROR": "RTE", "WRONG_ANSWER": "WA",
	"COMPILER-ERROR": "CE",
}

// readTags reads what DOMjudge's tags in the sources say. They replace what the folder means.
func (s *Submission) readTags() error {
	for _, f := range s.Files {
		head, err := readHead(f.Path, maxTagged)
		if err != nil {
			return err
		}
		if m := resultsTag.FindSubmatch(head); m != nil {
			var final []string
			for word := range strings.SplitSeq(string(m[1]), ",") {
				verdict, known := domjudgeResults[strings.TrimSpace(word)]
				if !known {
					return fmt.Errorf("%s: unknown result %q in @EXPECTED_RESULTS@", s.Name, strings.TrimSpace(word))
				}
				final = append(final, verdict)
			}
			s.Expected = []Expectation{{Final: final}}
			s.Lower, s.Upper = slices.Equal(final, []string{"AC"}), slices.Equal(final, []string{"TLE"})
		}
		if m := scoreTag.FindSubmatch(head); m != nil {
			score, err := strconv.ParseFloat(string(m[1]), 64)
			if err != nil {
				return fmt.Errorf("%s: read @EXPECTED_SCORE@: %w", s.Name, err)
			}
			s.Expected = append(s.Expected, Expectation{Score: &[2]float64{score, score}})
		}
	}
	return nil
}

// Difference says how a report differs from what is expected; it is empty if it does not.
func (s Submission) Difference(r job.Report) []string {
	if r.Verdict == job.CompileError {
		return s.compileDifference(r)
	}
	var found []string
	for _, e := range s.Expected {
		found = append(found, e.difference(r)...)
	}
	return found
}

// compileDifference is the Difference of a submission that does not compile: none where CE is expected.
func (s Submission) compileDifference(r job.Report) []string {
	for _, e := range s.Expected {
		if slices.Contains(e.Final, "CE") || slices.Contains(e.Permitted, "CE") {
			return nil
		}
	}
	return []string{"does not compile: " + CompilerSaid(r)}
}

// CompilerSaid is why sources do not compile, with the first line that the compiler wrote.
func CompilerSaid(r job.Report) string {
	text := r.Message
	if r.Compilation != nil && r.Compilation.Output != "" {
		first, _, _ := strings.Cut(r.Compilation.Output, "\n")
		text += ": " + first
	}
	return text
}

func (e Expectation) difference(r job.Report) []string {
	var found []string
	where := ""
	if e.Tests != "" {
		where = " in " + e.Tests
	}
	required, message := len(e.Required) == 0, e.Message == ""
	for _, t := range r.Tests {
		if t.Verdict == job.Skipped || e.Tests != "" && !Match(e.Tests, t.Name) {
			continue
		}
		if e.Permitted != nil && !is(t.Verdict, e.Permitted) {
			found = append(found, fmt.Sprintf("test %s is %s, permitted %s", t.Name, t.Verdict,
				strings.Join(e.Permitted, ", ")))
		}
		required = required || is(t.Verdict, e.Required)
		message = message || t.Checker != nil && strings.Contains(t.Checker.Message, e.Message)
	}
	if !required {
		found = append(found, fmt.Sprintf("no test%s is %s", where, strings.Join(e.Required, " or ")))
	}
	if !message {
		found = append(found, fmt.Sprintf("no message of the checker%s has %q", where, e.Message))
	}
	if e.Final != nil && !is(r.Verdict, e.Final) {
		found = append(found, fmt.Sprintf("verdict %s, expected %s", r.Verdict, strings.Join(e.Final, " or ")))
	}
	if e.Score != nil {
		found = append(found, e.scoreDifference(r, where)...)
	}
	return found
}

func (e Expectation) scoreDifference(r job.Report, where string) []string {
	score := r.Score
	if e.Tests != "" {
		score = nil
		for _, g := range r.Groups {
			if Match(e.Tests, g.Name) {
				score = g.Score
			}
		}
	}
	if score == nil {
		return []string{fmt.Sprintf("no score%s, expected %g to %g", where, e.Score[0], e.Score[1])}
	}
	const rounding = 1e-9
	if *score < e.Score[0]-rounding || *score > e.Score[1]+rounding {
		return []string{fmt.Sprintf("score%s %g, expected %g to %g", where, *score, e.Score[0], e.Score[1])}
	}
	return nil
}

// is reports whether a verdict is one of those given, by its code or by its judgement type. AC means a full score.
func is(v job.Verdict, of []string) bool {
	if slices.Contains(of, string(v)) {
		return true
	}
	return v != job.Partial && slices.Contains(of, v.JudgementType())
}
