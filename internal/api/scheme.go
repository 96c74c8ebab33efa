package api

import "math"

// MaxPoints limits points of every kind, including negative ones, so that the sum over all tests of a job is finite:
// JSON has no infinity.
const MaxPoints = 1e15

// ValidPoints reports whether a number is valid as points.
func ValidPoints(n float64) bool { return math.Abs(n) <= MaxPoints }

// Scheme defines how a problem is scored. Package scoring computes the scores.
type Scheme struct {
	Root *Group `json:"root"`
	// Scoring means that submissions get points. Without it, only the verdicts count.
	Scoring bool `json:"scoring,omitempty"`
}

// Tests returns the tests in the order in which they run.
func (s Scheme) Tests() []string {
	var names []string
	visit(s.Root, func(*Group) {}, func(m Member) { names = append(names, m.Test) })
	return names
}

func (s Scheme) walkGroups(f func(*Group)) { visit(s.Root, f, func(Member) {}) }

// visit calls group for each group from g on, outer ones before their parts, and test for each test in between.
func visit(g *Group, group func(*Group), test func(Member)) {
	if g == nil {
		return
	}
	group(g)
	for _, m := range g.Members {
		if m.Group != nil {
			visit(m.Group, group, test)
		} else {
			test(m)
		}
	}
}

// Aggregation is how the score of a group is computed from those of its members.
type Aggregation string

// The aggregations.
const (
	Sum      Aggregation = "sum"
	Min      Aggregation = "min"
	Max      Aggregation = "max"
	Average  Aggregation = "avg"
	PassFail Aggregation = "pass-fail" // all of MaxScore or 0
)

// VerdictMode is how the verdict of a group is computed from those of its members.
type VerdictMode string

// The verdict modes. The first three are those of Kattis' default grader.
const (
	WorstError   VerdictMode = "worst_error"
	FirstError   VerdictMode = "first_error"
	AlwaysAccept VerdictMode = "always_accept"
	// ByScore gives PC if members fail and the score is above 0.
	ByScore VerdictMode = "by_score"
)

// Group is a group of tests. A problem has one group, the root.
type Group struct {
	Name        string      `json:"name,omitempty"`
	Members     []Member    `json:"members,omitempty"` // in the order in which they run
	Aggregation Aggregation `json:"aggregation,omitempty"`
	Verdict     VerdictMode `json:"verdict,omitempty"`
	MaxScore    *float64    `json:"max_score,omitempty"` // nil means unlimited
	// RequirePass lists groups whose tests must all be accepted before this group is run.
	RequirePass []string `json:"require_pass,omitempty"`
	// Continue runs the remaining members after one that is not accepted.
	Continue bool `json:"continue,omitempty"`
	// AcceptIfAny accepts the group if any member is accepted.
	AcceptIfAny bool `json:"accept_if_any,omitempty"`
	// IgnoreFirst excludes the first of two members from the result: the samples.
	IgnoreFirst bool `json:"ignore_first,omitempty"`
}

// Member is a test, or a group of them.
type Member struct {
	Group *Group `json:"group,omitempty"` // nil for a test
	Test  string `json:"test,omitempty"`
	// Accept and Reject are the scores of a test for which the checker gives none.
	Accept   float64  `json:"accept,omitempty"`
	Reject   float64  `json:"reject,omitempty"`
	MaxScore *float64 `json:"max_score,omitempty"` // of a test; nil means unlimited
}

// GroupTests is a group with the tests in it and in its subgroups.
type GroupTests struct {
	Name  string   `json:"name"`
	Tests []string `json:"tests"`
}

// ProblemFormat is a format of problem packages.
type ProblemFormat string
