package problem

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/api"
	"judged/internal/base/text"
)

// maxTagged is the number of bytes at the start of a source that are searched for tags.
const maxTagged = 64 << 10

// expectedTag has results, or a score, with letters of any case. DOMjudge also takes results after SCORE.
var expectedTag = text.Pattern(`@(?i:EXPECTED)_([A-Za-z]+)@: *([A-Za-z_, -]*[A-Za-z]|[^\s*]*)`)

// domjudgeResults maps the words of @EXPECTED_RESULTS@ to verdicts.
var domjudgeResults = map[string]string{
	"CORRECT": "AC", "ACCEPTED": "AC", "WRONG-ANSWER": "WA", "NO-OUTPUT": "WA", "OUTPUT-LIMIT": "WA",
	"TIMELIMIT": "TLE", "TIME_LIMIT_EXCEEDED": "TLE", "RUN-ERROR": "RTE", "RUN_TIME_ERROR": "RTE", "WRONG_ANSWER": "WA",
	"COMPILER-ERROR": "CE", "COMPILER_ERROR": "CE", "NO_OUTPUT": "WA", "OUTPUT_LIMIT": "WA",
}

// readTags reads DOMjudge's tags in the sources. They replace the expectation of the folder. A tag without a usable
// expectation is a finding.
func (s *Submission) readTags(p *Package) error {
	for _, f := range s.Files {
		head, err := readHead(f.Path, maxTagged)
		if err != nil {
			return err
		}
		results, score := "", ""
		for _, m := range expectedTag().FindAllSubmatch(head, -1) {
			value, into := string(m[2]), &results
			kind := strings.ToUpper(string(m[1]))
			if kind != "RESULTS" && kind != "SCORE" {
				p.find("%s: unknown tag @EXPECTED_%s@; use @EXPECTED_RESULTS@ or @EXPECTED_SCORE@", s.Name, kind)
				continue
			}
			if _, err := strconv.ParseFloat(value, 64); err == nil && kind == "SCORE" {
				into = &score
			}
			if *into != "" {
				p.find("%s: more than one @EXPECTED_%s@; the first is used", s.Name, kind)
				continue
			}
			if *into = value; into == &results {
				s.expectResults(p, value)
			}
		}
		if score != "" {
			s.expectScore(p, score)
		}
	}
	return nil
}

func (s *Submission) expectResults(p *Package, words string) {
	var final []string
	for word := range strings.SplitSeq(words, ",") {
		verdict, known := domjudgeResults[strings.ToUpper(strings.TrimSpace(word))]
		if !known {
			p.find("%s: unknown result %q after @EXPECTED_RESULTS@ or @EXPECTED_SCORE@; the expectation of its folder is "+
				"used", s.Name, strings.TrimSpace(word))
			return
		}
		final = append(final, verdict)
	}
	of := domjudgeResults[strings.ToUpper(path.Base(path.Dir(s.Name)))]
	if of != "" && !slices.Contains(final, of) {
		p.find("%s: its tag expects %s, and its folder %s; the tag is used", s.Name, strings.Join(final, " or "), of)
	}
	s.Expected = []Expectation{{Final: final}}
	s.Lower, s.Upper = slices.Equal(final, []string{"AC"}), slices.Equal(final, []string{"TLE"})
}

func (s *Submission) expectScore(p *Package, text string) {
	score, err := strconv.ParseFloat(text, 64)
	if err != nil || !api.ValidPoints(score) {
		p.find("%s: %q in @EXPECTED_SCORE@ is not a number of points", s.Name, text)
		return
	}
	for i, e := range s.Expected {
		if score > 0 && len(e.Final) > 0 && !slices.Contains(e.Final, "AC") {
			// In DOMjudge, such a submission keeps its points.
			s.Expected[i].Final = append(slices.Clip(e.Final), string(api.Partial))
		}
	}
	s.Expected = append(s.Expected, Expectation{Score: &[2]float64{score, score}})
}
