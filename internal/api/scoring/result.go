package scoring

import (
	"errors"
	"fmt"
	"slices"

	"judged/internal/api"
)

// Result is the result of a submission under a problem's scheme.
type Result struct {
	Verdict api.Verdict
	Score   *float64 // nil if the problem has no scores
	Groups  []api.GroupReport
}

// node is the result of a member.
type node struct {
	verdict api.Verdict // SK if nothing of it was run
	score   float64
}

// Result computes the results of the groups and of the problem, and sets the scores of tests. stop is the rule by which
// the tests were run: a test that it does not exclude must have been run, regardless of the others. An error other than
// *UnfinishedError is a fault of the problem: a score above the maximum, or tests that never count.
func (s Scheme) Result(tests []api.TestReport, stop api.Stop) (Result, error) {
	e := evaluation{scheme: s, tests: map[string]*api.TestReport{}, places: s.NewProgress(stop).tests}
	for i := range tests {
		e.tests[tests[i].Name] = &tests[i]
	}
	if err := e.finished(stop); err != nil {
		return Result{}, err
	}
	root, err := e.group(s.Root)
	if err != nil {
		return Result{}, err
	}
	if root.verdict == api.Skipped {
		if root.verdict, err = e.reason(); err != nil {
			return Result{}, err
		}
	}
	r := Result{Verdict: root.verdict, Groups: e.groups}
	slices.Reverse(r.Groups)
	if s.Scoring {
		if r.Verdict.Failed() {
			root.score = 0
		}
		r.Score = &root.score
	}
	return r, nil
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
	tests  map[string]*api.TestReport
	places map[string]place
	groups []api.GroupReport // the last one first
}

// ran returns the report of a test that was run, or nil.
func (e *evaluation) ran(test string) *api.TestReport {
	t := e.tests[test]
	if t == nil || t.Verdict == "" || t.Verdict == api.Skipped || t.Verdict == api.Cancelled {
		return nil
	}
	return t
}

// finished replays the submission. A test that was not run counts as excluded only if the other tests imply that.
func (e *evaluation) finished(stop api.Stop) error {
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
func (e *evaluation) reason() (api.Verdict, error) {
	partial := false
	for _, name := range e.scheme.Tests() {
		t := e.ran(name)
		if t != nil && t.Verdict.Failed() {
			return t.Verdict, nil
		}
		partial = partial || t != nil && t.Verdict == api.Partial
	}
	if partial && e.scheme.Scoring {
		return api.Partial, nil
	}
	return "", errors.New("tests that count were not run although no test failed")
}

// group returns the result of a group.
func (e *evaluation) group(g *api.Group) (node, error) {
	var members []node
	for _, m := range slices.Backward(g.Members) {
		n, err := e.member(m)
		if err != nil {
			return node{}, err
		}
		members = append(members, n)
	}
	slices.Reverse(members)
	// If judged failed, nothing is known, not even which tests would have been run. Without groups, the first failure
	// decides, regardless of later tests.
	failed := g.Verdict != "" && slices.ContainsFunc(members, func(n node) bool { return n.verdict == api.InternalError })
	if g.IgnoreFirst && len(members) == 2 {
		members = members[1:]
	}
	n := node{score: score(g, members, isFull(members) && !failed)}
	n.verdict = e.verdict(g, members, failed, n.score)
	if g.MaxScore != nil && n.score > *g.MaxScore {
		return n, fmt.Errorf("score %v of group %q is above its maximum %v", n.score, g.Name, *g.MaxScore)
	}
	r := api.GroupReport{Name: g.Name, Verdict: n.verdict}
	if e.scheme.Scoring {
		r.Score, r.MaxScore = &n.score, g.MaxScore
	}
	if g != e.scheme.Root {
		e.groups = append(e.groups, r)
	}
	return n, nil
}

// isFull reports whether there are members and all of them are accepted.
func isFull(members []node) bool {
	return len(members) > 0 && !slices.ContainsFunc(members, func(n node) bool { return n.verdict != api.Accepted })
}

func (e *evaluation) member(m api.Member) (node, error) {
	if m.Group != nil {
		return e.group(m.Group)
	}
	t := e.ran(m.Test)
	if t == nil {
		return node{verdict: api.Skipped, score: m.Reject}, nil
	}
	n, err := outcome(e.places[m.Test], *t, e.scheme.Scoring)
	if err == nil && e.scheme.Scoring {
		score := n.score
		t.Score, t.Ratio, t.Verdict = &score, false, n.verdict
	}
	return n, err
}

// outcome returns the result of a test that was run.
func outcome(at place, t api.TestReport, scoring bool) (node, error) {
	n := node{verdict: t.Verdict}
	if !scoring {
		return n, nil
	}
	switch ignored := at.isIgnored(); {
	case n.verdict.Failed():
		n.score = at.Reject
	case t.Score == nil:
		n.score = at.Accept
	case t.Ratio && ignored:
		n.verdict = api.Accepted
	case t.Ratio && at.MaxScore == nil:
		return n, fmt.Errorf("the checker gives a part of the points of test %q, which has no maximum", t.Name)
	case t.Ratio:
		n.score = *t.Score * at.Accept
	default:
		n.score = *t.Score
		n.verdict = scored(at.Member, n.score)
	}
	if at.MaxScore != nil && n.score > *at.MaxScore {
		return n, fmt.Errorf("score %v of test %q is above its maximum %v", n.score, t.Name, *at.MaxScore)
	}
	return n, nil
}

// scored returns the verdict of a test with points. Without a maximum, every score is full.
func scored(m api.Member, points float64) api.Verdict {
	if m.MaxScore == nil || points == *m.MaxScore {
		return api.Accepted
	}
	return api.Partial
}

func score(g *api.Group, members []node, full bool) float64 {
	if g.Aggregation == api.PassFail {
		if full && g.MaxScore != nil {
			return *g.MaxScore
		}
		return 0
	}
	if len(members) == 0 {
		return 0
	}
	total, low, high := 0.0, members[0].score, members[0].score
	for _, n := range members {
		total, low, high = total+n.score, min(low, n.score), max(high, n.score)
	}
	switch g.Aggregation {
	case api.Min:
		return low
	case api.Max:
		return high
	case api.Average:
		return total / float64(len(members))
	}
	return total
}

func (e *evaluation) verdict(g *api.Group, members []node, failed bool, score float64) api.Verdict {
	switch {
	case failed:
		return api.InternalError
	case isFull(members):
		return api.Accepted
	}
	has := func(v api.Verdict) bool {
		return slices.ContainsFunc(members, func(n node) bool { return n.verdict == v })
	}
	ran := slices.ContainsFunc(members, func(n node) bool { return n.verdict != api.Skipped })
	first := slices.IndexFunc(members, func(n node) bool { return n.verdict.Failed() })
	switch {
	case !ran:
		return api.Skipped
	case first < 0 && has(api.Skipped) && !(e.scheme.Scoring && score > 0):
		return api.Skipped // nothing failed, and nothing is known about the rest
	case first < 0:
		return api.Partial
	case g.Verdict == api.AlwaysAccept, g.AcceptIfAny && (has(api.Accepted) || has(api.Partial)),
		g.Verdict == api.ByScore && score > 0:
		return api.Partial
	case g.Verdict == api.WorstError:
		for _, v := range severity {
			if has(v) {
				return v
			}
		}
	}
	return members[first].verdict
}
