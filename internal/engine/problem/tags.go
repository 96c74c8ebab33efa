package problem

import (
	"slices"
	"strconv"
	"strings"

	"judged/internal/api"
	"judged/internal/base/text"
)

// maxTagged is the number of bytes at the start of a source that are searched for tags.
const maxTagged = 64 << 10

// expectedTag has results, or a score. DOMjudge also takes results after SCORE.
var expectedTag = text.Pattern(`@EXPECTED_([A-Z]+)@: *([A-Za-z_, -]*[A-Za-z]|[^\s*]*)`)

// domjudgeResults maps the words of @EXPECTED_RESULTS@ to verdicts.
var domjudgeResults = map[string]string{
	"CORRECT": "AC", "ACCEPTED": "AC", "WRONG-ANSWER": "WA", "NO-OUTPUT": "WA", "OUTPUT-LIMIT": "WA",
	"TIMELIMIT": "TLE", "TIME_LIMIT_EXCEEDED": "TLE", "RUN-ERROR": "RTE", "RUN_TIME_ERROR": "RTE", "WRONG_ANSWER": "WA",
	"COMPILER-ERROR": "CE",
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
			if kind := string(m[1]); kind != "RESULTS" && kind != "SCORE" {
				p.find("%s: unknown tag @EXPECTED_%s@; use @EXPECTED_RESULTS@ or @EXPECTED_SCORE@", s.Name, kind)
				continue
			}
			if _, err := strconv.ParseFloat(value, 64); err == nil && string(m[1]) == "SCORE" {
				into = &score
			}
			if *into != "" {
				p.find("%s: more than one @EXPECTED_%s@; the first is used", s.Name, m[1])
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
