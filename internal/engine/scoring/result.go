package scoring

import (
	"fmt"
	"slices"

	"judged/internal/base/job"
)

// Result is what a problem's scheme makes of a submission.
type Result struct {
	Verdict job.Verdict
	Score   *float64 // nil where the problem has no scores
	Groups  []job.GroupReport
}

// node is the result of a member.
type node struct {
	verdict job.Verdict // SK if nothing of it was run
	score   float64
}

// Result computes the results of the groups and of the problem, and sets the scores of tests. A test that is not in
// tests was not run. The error is a fault of the problem: a score above the maximum.
func (s Scheme) Result(tests []job.TestReport) (Result, error) {
	e := evaluation{scheme: s, tests: map[string]*job.TestReport{}}
	for i := range tests {
		e.tests[tests[i].Name] = &tests[i]
	}
	root, err := e.group(s.Root, false)
	if err != nil {
		return Result{}, err
	}
	r := Result{Verdict: root.verdict, Groups: e.groups}
	slices.Reverse(r.Groups)
	if r.Verdict == job.Skipped {
		r.Verdict = job.Accepted // a problem without a test
	}
	if s.Scoring {
		if r.Verdict.Failed() {
			root.score = 0
		}
		r.Score = &root.score
	}
	return r, nil
}

type evaluation struct {
	scheme Scheme
	tests  map[string]*job.TestReport
	groups []job.GroupReport // the last one first
}

// group returns the result of a group. ignored says that its points do not count.
func (e *evaluation) group(g *job.Group, ignored bool) (node, error) {
	var members []node
	full := true
	for i, m := range slices.Backward(g.Members) {
		n, err := e.member(m, ignored || g.IgnoreFirst && i == 0)
		if err != nil {
			return node{}, err
		}
		full = full && n.verdict == job.Accepted
		members = append(members, n)
	}
	slices.Reverse(members)
	if g.IgnoreFirst && len(members) == 2 {
		members = members[1:]
		full = members[0].verdict == job.Accepted
	}
	n := node{score: score(g, members, full)}
	n.verdict = verdict(g, members, full, n.score)
	if g.MaxScore != nil && n.score > *g.MaxScore {
		return n, fmt.Errorf("score %v of group %q is above its maximum %v", n.score, g.Name, *g.MaxScore)
	}
	r := job.GroupReport{Name: g.Name, Verdict: n.verdict}
	if e.scheme.Scoring {
		r.Score, r.MaxScore = &n.score, g.MaxScore
	}
	if g != e.scheme.Root {
		e.groups = append(e.groups, r)
	}
	return n, nil
}

func (e *evaluation) member(m job.Member, ignored bool) (node, error) {
	if m.Group != nil {
		return e.group(m.Group, ignored)
	}
	t := e.tests[m.Test]
	if t == nil || t.Verdict == job.Skipped || t.Verdict == "" {
		return node{verdict: job.Skipped, score: m.Reject}, nil
	}
	if !e.scheme.Scoring {
		return node{verdict: t.Verdict}, nil
	}
	n := node{verdict: t.Verdict}
	switch {
	case n.verdict.Failed():
		n.score = m.Reject
	case t.Score == nil:
		n.score = m.Accept
	case t.Ratio && ignored:
		n.verdict = job.Accepted
	case t.Ratio && m.MaxScore == nil:
		return n, fmt.Errorf("the checker gives a part of the points of test %q, which has no maximum", m.Test)
	case t.Ratio:
		n.score = *t.Score * m.Accept
	default:
		n.score = *t.Score
		n.verdict = scored(m, n.score)
	}
	if m.MaxScore != nil && n.score > *m.MaxScore {
		return n, fmt.Errorf("score %v of test %q is above its maximum %v", n.score, m.Test, *m.MaxScore)
	}
	score := n.score
	t.Score, t.Verdict = &score, n.verdict
	return n, nil
}

// scored is the verdict of a test with points. Without a maximum every score is full.
func scored(m job.Member, points float64) job.Verdict {
	if m.MaxScore == nil || points == *m.MaxScore {
		return job.Accepted
	}
	return job.Partial
}

func score(g *job.Group, members []node, full bool) float64 {
	if g.Aggregation == job.PassFail {
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
	case job.Min:
		return low
	case job.Max:
		return high
	case job.Average:
		return total / float64(len(members))
	}
	return total
}

func verdict(g *job.Group, members []node, full bool, score float64) job.Verdict {
	if full {
		return job.Accepted
	}
	has := func(v job.Verdict) bool {
		return slices.ContainsFunc(members, func(n node) bool { return n.verdict == v })
	}
	ran := slices.ContainsFunc(members, func(n node) bool { return n.verdict != job.Skipped })
	first := slices.IndexFunc(members, func(n node) bool { return n.verdict.Failed() })
	switch {
	case has(job.InternalError):
		return job.InternalError
	case !ran:
		return job.Skipped
	case first < 0:
		return job.Partial // something was not run, or is partial itself
	case g.Verdict == job.AlwaysAccept, g.AcceptIfAny && (has(job.Accepted) || has(job.Partial)),
		g.Verdict == job.ByScore && score > 0:
		return job.Partial
	case g.Verdict == job.WorstError:
		for _, v := range severity {
			if has(v) {
				return v
			}
		}
	}
	return members[first].verdict
}
