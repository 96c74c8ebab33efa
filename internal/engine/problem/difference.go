package problem

import (
	"fmt"
	"slices"
	"strings"

	"judged/internal/api"
)

// Difference returns how a report differs from the expectation, or nothing if it matches.
func (s Submission) Difference(r api.Report) []string {
	if r.Verdict == api.CompileError {
		return s.compileDifference(r)
	}
	var found []string
	for _, e := range s.Expected {
		found = append(found, e.difference(r)...)
	}
	if s.mustBeFull() && r.Verdict == api.Accepted && r.Score != nil && *r.Score < *s.full-api.Rounding {
		found = append(found, fmt.Sprintf("score %g of %g; an accepted submission gets all points: see the points of the "+
			"groups, or move it to partially_accepted", *r.Score, *s.full))
	}
	return found
}

// mustBeFull reports whether the submission must get all points: it must be accepted, and no score is expected of it.
func (s Submission) mustBeFull() bool {
	accepted := false
	for _, e := range s.Expected {
		if e.Score != nil {
			return false
		}
		accepted = accepted || e.Tests == "" && (slices.Equal(e.Permitted, onlyAccepted) ||
			slices.Equal(e.Final, onlyAccepted))
	}
	return accepted && s.full != nil
}

var onlyAccepted = []string{"AC"}

// compileDifference returns the Difference of a submission that does not compile: nothing if CE is expected.
func (s Submission) compileDifference(r api.Report) []string {
	for _, e := range s.Expected {
		if slices.Contains(e.Final, "CE") || slices.Contains(e.Permitted, "CE") {
			return nil
		}
	}
	return []string{"does not compile: " + CompilerSaid(r)}
}

// CompilerSaid returns why sources do not compile, with the first line of the compiler's output.
func CompilerSaid(r api.Report) string {
	text := r.Message
	if r.Compilation != nil && r.Compilation.Output != "" {
		first, _, _ := strings.Cut(r.Compilation.Output, "\n")
		text += ": " + first
	}
	return text
}

// MayPass reports whether the submission may be accepted.
func (s Submission) MayPass() bool {
	return !slices.ContainsFunc(s.Expected, func(e Expectation) bool {
		for _, verdicts := range [][]string{e.Permitted, e.Required, e.Final} {
			if len(verdicts) > 0 && !slices.Contains(verdicts, "AC") {
				return true
			}
		}
		return false
	})
}

// NeedsMore reports whether a test that was not run may still match the expectation, which requires a verdict or a
// message of at least one test, or permits verdicts of tests of which none was run. It returns false if the report
// already differs in another way.
func (s Submission) NeedsMore(r api.Report) bool {
	more := false
	for _, e := range s.Expected {
		var left, refused bool
		required, message, ran := len(e.Required) == 0, e.Message == "", e.Permitted == nil
		for _, t := range r.Tests {
			switch {
			case e.Tests != "" && !Match(e.Tests, t.Name):
			case t.Verdict == api.Skipped:
				left = true
			default:
				ran = true
				refused = refused || e.Permitted != nil && !is(t.Verdict, e.Permitted)
				required = required || is(t.Verdict, e.Required)
				message = message || t.Checker != nil && strings.Contains(t.Checker.Message, e.Message)
			}
		}
		if refused || e.Final != nil && !is(r.Verdict, e.Final) {
			return false
		}
		more = more || left && !(required && message && ran)
	}
	return more
}

func (e Expectation) difference(r api.Report) []string {
	var found []string
	where := ""
	if e.Tests != "" {
		where = " in " + e.Tests
	}
	required, message := len(e.Required) == 0, e.Message == ""
	matched, ran := e.Permitted == nil, e.Permitted == nil
	for _, t := range r.Tests {
		if e.Tests != "" && !Match(e.Tests, t.Name) {
			continue
		}
		if matched = true; t.Verdict == api.Skipped {
			continue
		}
		ran = true
		if e.Permitted != nil && !is(t.Verdict, e.Permitted) {
			found = append(found, fmt.Sprintf("test %s is %s, permitted %s", t.Name, t.Verdict,
				strings.Join(e.Permitted, ", ")))
		}
		required = required || is(t.Verdict, e.Required)
		message = message || t.Checker != nil && strings.Contains(t.Checker.Message, e.Message)
	}
	switch {
	case !matched:
		found = append(found, fmt.Sprintf("there is no test%s", where))
	case !ran:
		found = append(found, fmt.Sprintf("no test%s was run", where))
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

// scoreDifference compares the score of the submission, or of each group and test whose name the glob matches.
func (e Expectation) scoreDifference(r api.Report, where string) []string {
	if e.Tests == "" {
		return e.outside(r.Score, "")
	}
	var found []string
	matched, globs := false, globsOf(e.Tests, maxAlternatives)
	for _, g := range r.Groups {
		if globs.matchName(g.Name) {
			matched = true
			found = append(found, e.outside(g.Score, " in "+g.Name)...)
		}
	}
	for _, t := range r.Tests {
		if globs.matchName(t.Name) {
			matched = true
			found = append(found, e.outside(t.Score, " in "+t.Name)...)
		}
	}
	if !matched {
		return e.outside(nil, where)
	}
	return found
}

// outside describes how a score differs from the expected range.
func (e Expectation) outside(score *float64, where string) []string {
	switch {
	case score == nil:
		return []string{fmt.Sprintf("no score%s, expected %g to %g", where, e.Score[0], e.Score[1])}
	case *score < e.Score[0]-api.Rounding || *score > e.Score[1]+api.Rounding:
		return []string{fmt.Sprintf("score%s %g, expected %g to %g", where, *score, e.Score[0], e.Score[1])}
	}
	return nil
}

// is reports whether a verdict is one of those given, by its code or by its judgement type. AC means a full score.
func is(v api.Verdict, of []string) bool {
	if slices.Contains(of, string(v)) {
		return true
	}
	return v != api.Partial && slices.Contains(of, v.JudgementType())
}
