package api

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// SchemeResult is the result of a submission under a problem's scheme.
type SchemeResult struct {
	Verdict Verdict
	Score   *float64 // nil if the problem has no scores
	Groups  []GroupReport
}

// memberResult is the result of a member.
type memberResult struct {
	verdict Verdict // SK if nothing of it was run
	score   float64
}

// Graded is the verdict and the score of a group or of one of its members.
type Graded struct {
	Verdict Verdict
	Score   float64
}

// Grade runs the grader on the results of a group's members.
type Grade func(g *Group, members []Graded) (Graded, error)

// Result computes the results of the groups and of the problem, and sets the scores of tests. stop is the rule by which
// the tests were run: a test that it does not exclude must have been run, regardless of the others. An error other than
// *UnfinishedError, or one of grade, is a fault of the problem: a score above the maximum, or tests that never count.
// grade is nil if the scheme has no grader.
func (s Scheme) Result(tests []TestReport, stop Stop, grade Grade) (SchemeResult, error) {
	e, err := s.evaluate(tests, stop, grade)
	if err != nil {
		return SchemeResult{}, err
	}
	root, err := e.group(s.Root)
	if err != nil {
		return SchemeResult{}, err
	}
	if root.verdict == Skipped {
		if root.verdict, err = e.reason(); err != nil {
			return SchemeResult{}, err
		}
	}
	r := SchemeResult{Verdict: root.verdict, Groups: e.groups}
	slices.Reverse(r.Groups)
	if s.Scoring {
		if r.Verdict.Failed() {
			root.score = 0
		}
		r.Score = &root.score
	}
	return r, nil
}

// evaluate begins the evaluation of tests. It returns an *UnfinishedError if a required one was not run.
func (s Scheme) evaluate(tests []TestReport, stop Stop, grade Grade) (evaluation, error) {
	e := evaluation{scheme: s, stop: stop, grade: grade, tests: map[string]*TestReport{},
		places: s.NewProgress(stop).tests}
	for i := range tests {
		e.tests[tests[i].Name] = &tests[i]
	}
	return e, e.finished(stop)
}

// UnfinishedError means that a required test was not run.
type UnfinishedError struct{ Test string }

func (e *UnfinishedError) Error() string {
	if e.Test == "" {
		return "no test was run"
	}
	return fmt.Sprintf("test %q was not run, and nothing says that it need not be", e.Test)
}

type evaluation struct {
	scheme Scheme
	stop   Stop
	grade  Grade
	tests  map[string]*TestReport
	places map[string]testPlace
	groups []GroupReport // the last one first
	// ignored means that the current group does not count, so that its points may exceed its maximum.
	ignored bool
}

// ran returns the report of a test that was run, or nil.
func (e *evaluation) ran(test string) *TestReport {
	t := e.tests[test]
	if t == nil || t.Verdict == "" || t.Verdict == Skipped || t.Verdict == Cancelled {
		return nil
	}
	return t
}

// finished replays the submission. A test that was not run counts as excluded only if the other tests imply that.
func (e *evaluation) finished(stop Stop) error {
	p, some := e.scheme.NewProgress(stop), false
	for _, name := range e.scheme.Tests() {
		if t := e.ran(name); t != nil {
			p.Record(*t)
			some = true
		} else if p.Needs(name) {
			return &UnfinishedError{name}
		}
	}
	if !some {
		return &UnfinishedError{}
	}
	return nil
}

// reason returns the verdict if no test that counts was run: that of the test because of which none was.
func (e *evaluation) reason() (Verdict, error) {
	partial := false
	for _, name := range e.scheme.Tests() {
		t := e.ran(name)
		if t != nil && t.Verdict.Failed() {
			return t.Verdict, nil
		}
		partial = partial || t != nil && t.Verdict == Partial
	}
	if partial && e.scheme.Scoring {
		return Partial, nil
	}
	return "", errors.New("tests that count were not run although no test failed")
}

// group returns the result of a group.
func (e *evaluation) group(g *Group) (memberResult, error) {
	var members []memberResult
	outside := e.ignored
	for i, m := range slices.Backward(g.Members) {
		e.ignored = outside || g.IgnoreFirst && i == 0
		n, err := e.member(m)
		e.ignored = outside
		if err != nil {
			return memberResult{}, err
		}
		members = append(members, n)
	}
	slices.Reverse(members)
	// If judged failed, nothing is known, not even which tests would have been run. Without groups, the first failure
	// decides, regardless of later tests.
	failed := (g.Verdict != "" || g.Aggregation == Custom) &&
		slices.ContainsFunc(members, func(n memberResult) bool { return n.verdict == InternalError })
	if members = e.counted(g, members); g.IgnoreFirst && len(members) == 2 {
		members = members[1:]
	}
	var n memberResult
	if g.Aggregation == Custom && !failed {
		var err error
		if n, err = e.custom(g, members); err != nil {
			return memberResult{}, err
		}
	} else {
		n = memberResult{score: groupScore(g, members, isFull(members) && !failed)}
		n.verdict = e.verdict(g, members, failed, n.score)
	}
	switch {
	case isNear(n.score, g.MaxScore), e.ignored && g.MaxScore != nil && n.score > *g.MaxScore:
		n.score = *g.MaxScore
	case g.MaxScore != nil && n.score > *g.MaxScore:
		return n, fmt.Errorf("score %v of group %q is above its maximum %v", n.score, g.Name, *g.MaxScore)
	}
	r := GroupReport{Name: g.Name, Verdict: n.verdict}
	if e.scheme.Scoring {
		r.Score, r.MaxScore = &n.score, g.MaxScore
	}
	if g != e.scheme.Root {
		e.groups = append(e.groups, r)
	}
	return n, nil
}

// custom returns the result of a group according to the grader. As in problemtools, the grader gets the members up to
// the first one that failed if the others are not run after that.
func (e *evaluation) custom(g *Group, members []memberResult) (memberResult, error) {
	var ran []Graded
	for _, n := range members {
		if n.verdict == Skipped {
			continue
		}
		ran = append(ran, Graded{n.verdict, n.score})
		if n.verdict.Failed() && !g.Continue && e.stop != StopNever {
			break
		}
	}
	if len(ran) == 0 {
		return memberResult{verdict: Skipped}, nil
	}
	r, err := e.grade(g, ran)
	if err != nil {
		return memberResult{}, err
	}
	if isNear(r.Score, g.MaxScore) {
		r.Score = *g.MaxScore
	}
	if r.Verdict == Accepted {
		r.Verdict = scored(Member{MaxScore: g.MaxScore}, r.Score)
	}
	return memberResult{r.Verdict, r.Score}, nil
}

// counted returns the members that count for a group that Kattis' default grader grades: those up to the first one that
// failed if no others are run after that. As in problemtools, others have no points, not even reject_score.
func (e *evaluation) counted(g *Group, members []memberResult) []memberResult {
	byDefault := slices.Contains([]VerdictMode{WorstError, FirstError, AlwaysAccept}, g.Verdict)
	if g.Continue || e.stop == StopNever || !byDefault {
		return members
	}
	first := slices.IndexFunc(members, func(n memberResult) bool { return n.verdict.Failed() })
	if first < 0 {
		return members
	}
	return members[:first+1]
}

// isFull reports whether there are members and all of them are accepted.
func isFull(members []memberResult) bool {
	return len(members) > 0 && !slices.ContainsFunc(members, func(n memberResult) bool { return n.verdict != Accepted })
}

func (e *evaluation) member(m Member) (memberResult, error) {
	if m.Group != nil {
		return e.group(m.Group)
	}
	t := e.ran(m.Test)
	if t == nil {
		return memberResult{verdict: Skipped, score: m.Reject}, nil
	}
	at := e.places[m.Test]
	n, err := outcome(at, *t, e.scheme.Scoring)
	switch {
	case err != nil:
	case e.scheme.Scoring:
		t.Score, t.Ratio, t.Verdict = new(n.score), false, n.verdict
	case at.losesPoints(*t):
		said := *t.Checker
		said.Verdict = n.verdict
		t.Score, t.Ratio, t.Verdict, t.Checker = nil, false, n.verdict, &said
	}
	return n, err
}

// losesPoints reports whether the points of a test do not count because the problem gives none. The checker accepts the
// output by its exit status, so it is correct. Without a problem, which has a verdict mode, points count.
func (p testPlace) losesPoints(t TestReport) bool {
	return p.path[0].Verdict != "" && t.Score != nil && t.Checker != nil && t.Checker.Accepts
}

// outcome returns the result of a test that was run.
func outcome(at testPlace, t TestReport, scoring bool) (memberResult, error) {
	n := memberResult{verdict: t.Verdict}
	if !scoring {
		if at.losesPoints(t) {
			n.verdict = Accepted
		}
		return n, nil
	}
	c := t.Checker
	if c != nil && c.Accepts && n.verdict == WrongAnswer && t.Score != nil && at.MaxScore == nil {
		n.verdict = Accepted
	}
	switch ignored := at.isIgnored(); {
	case n.verdict.Failed():
		n.score = at.Reject
	case t.Score == nil && at.Scored && !ignored:
		return n, fmt.Errorf("the checker accepts test %q without points, which it must give", t.Name)
	case t.Score == nil:
		n.score = at.Accept
	case t.Ratio && ignored:
		n.verdict = Accepted
	case t.Ratio && at.MaxScore == nil:
		return n, fmt.Errorf("the checker gives a part of the points of test %q, which has no maximum", t.Name)
	case t.Ratio && at.Whole:
		// 55 % of 100 are 55, as in SIO2, although 0.55*100 is a little more.
		n.score = min(math.Ceil(*t.Score*at.Accept-Rounding), at.Accept)
		n.verdict = scored(at.Member, n.score)
	case t.Ratio:
		n.score = *t.Score * at.Accept
	default:
		if n.score = *t.Score; isNear(n.score, at.MaxScore) {
			n.score = *at.MaxScore
		}
		n.verdict = scored(at.Member, n.score)
	}
	if at.MaxScore != nil && n.score > *at.MaxScore {
		return n, fmt.Errorf("score %v of test %q is above its maximum %v", n.score, t.Name, *at.MaxScore)
	}
	return n, nil
}

// scored returns the verdict of a test with points. Without a maximum, every score is full.
func scored(m Member, points float64) Verdict {
	if m.MaxScore == nil || points == *m.MaxScore {
		return Accepted
	}
	return Partial
}

func groupScore(g *Group, members []memberResult, full bool) float64 {
	if g.Aggregation == PassFail {
		if full && g.MaxScore != nil {
			return *g.MaxScore
		}
		return 0
	}
	if len(members) == 0 {
		return 0
	}
	scores := make([]float64, len(members))
	for i, n := range members {
		scores[i] = n.score
	}
	switch g.Aggregation {
	case Min:
		return slices.Min(scores)
	case Max:
		return slices.Max(scores)
	case Average:
		return AddUp(scores, float64(len(scores)))
	}
	return AddUp(scores, 1)
}

// Rounding is the tolerance for sums of points, and for shares of them in decimal.
const Rounding = 1e-9

// isNear reports whether points are the maximum but for rounding. nil means unlimited.
func isNear(points float64, most *float64) bool {
	return most != nil && math.Abs(points-*most) <= Rounding
}

// AddUp returns the sum of points divided by a number, with 15 significant digits, which a float64 always holds: six
// times 100.0/6 is 100.
func AddUp(points []float64, by float64) float64 {
	total, lost := 0.0, 0.0 // lost by rounding so far (Neumaier's algorithm)
	for _, n := range points {
		next := total + n
		if math.IsInf(next, 0) {
			return next
		}
		if math.Abs(total) >= math.Abs(n) {
			lost += (total - next) + n
		} else {
			lost += (n - next) + total
		}
		total = next
	}
	// The only possible error is a range error.
	sum, _ := strconv.ParseFloat(strconv.FormatFloat((total+lost)/by, 'g', 15, 64), 64)
	return sum
}

func (e *evaluation) verdict(g *Group, members []memberResult, failed bool, score float64) Verdict {
	switch {
	case failed:
		return InternalError
	case isFull(members):
		return Accepted
	}
	has := func(v Verdict) bool {
		return slices.ContainsFunc(members, func(n memberResult) bool { return n.verdict == v })
	}
	ran := slices.ContainsFunc(members, func(n memberResult) bool { return n.verdict != Skipped })
	first := slices.IndexFunc(members, func(n memberResult) bool { return n.verdict.Failed() })
	switch {
	case !ran:
		return Skipped
	case first < 0 && has(Skipped) && !(e.scheme.Scoring && score > 0):
		return Skipped // nothing failed, and nothing is known about the rest
	case first < 0:
		return Partial
	case g.Verdict == AlwaysAccept, g.AcceptIfAny && (has(Accepted) || has(Partial)),
		g.Verdict == ByScore && score > 0:
		return Partial
	case g.Verdict == WorstError:
		for _, v := range severity {
			if has(v) {
				return v
			}
		}
	}
	return members[first].verdict
}

// severity orders verdicts for WorstError, worst first.
var severity = []Verdict{InternalError, SecurityViolation, NotExecutable, CompileError, RuntimeError, MemoryLimit,
	TimeLimit, WallTimeLimit, IdlenessLimit, OutputLimit, WrongAnswer, PresentationError}
