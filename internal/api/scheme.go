package api

import "math"

// MaxPoints limits points of every kind, including negative ones, so that the sum over all tests of a job is finite:
// JSON has no infinity.
const MaxPoints = 1e15

// ValidPoints reports whether a number is valid as points.
func ValidPoints(n float64) bool { return math.Abs(n) <= MaxPoints }

// Scheme defines how a problem is scored. Result computes the scores.
type Scheme struct {
	Root *Group `json:"root"`
	// Scoring means that submissions get points. Without it, only the verdicts count.
	Scoring bool `json:"scoring,omitempty"`
	// Grader computes the results of the groups with the aggregation Custom; it may be nil.
	Grader *Grader `json:"grader,omitempty"`
}

// Grader is a program of the jury that computes the verdict and the score of a group from those of its members.
type Grader struct {
	Name     string          `json:"name,omitempty"` // as in Checker
	Program  File            `json:"program"`
	Language string          `json:"language,omitempty"` // as in Checker
	Files    map[string]File `json:"files,omitempty"`    // as in Checker
}

// Tests returns the tests in the order in which they run.
func (s Scheme) Tests() []string {
	var names []string
	s.walk(func(_ []*Group, m Member) { names = append(names, m.Test) })
	return names
}

// Groups returns the groups below the root, outer ones before their subgroups.
func (s Scheme) Groups() []GroupTests {
	groups, index := []GroupTests{}, map[*Group]int{}
	s.walk(func(path []*Group, m Member) {
		for _, g := range path[1:] {
			i, known := index[g]
			if !known {
				i = len(groups)
				index[g], groups = i, append(groups, GroupTests{Name: g.Name})
			}
			groups[i].Tests = append(groups[i].Tests, m.Test)
		}
	})
	return groups
}

// IsCustom reports whether a grader computes the result of a group.
func (s Scheme) IsCustom() bool {
	custom := false
	s.walkGroups(func(g *Group) { custom = custom || g.Aggregation == Custom })
	return custom
}

// walk calls f for each test with the groups that contain it, from the root.
func (s Scheme) walk(f func(path []*Group, m Member)) {
	var visit func(path []*Group)
	visit = func(path []*Group) {
		for _, m := range path[len(path)-1].Members {
			if m.Group != nil {
				visit(append(path[:len(path):len(path)], m.Group))
			} else {
				f(path, m)
			}
		}
	}
	if s.Root != nil {
		visit([]*Group{s.Root})
	}
}

// walkGroups calls f for each group, outer ones before their subgroups.
func (s Scheme) walkGroups(f func(*Group)) {
	var visit func(*Group)
	visit = func(g *Group) {
		f(g)
		for _, m := range g.Members {
			if m.Group != nil {
				visit(m.Group)
			}
		}
	}
	if s.Root != nil {
		visit(s.Root)
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
	Custom   Aggregation = "custom"    // by the grader, which also decides the verdict
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
	GraderArgs  []string    `json:"grader_args,omitempty"`
	// RequirePass lists groups whose tests must all be accepted before this group is run.
	RequirePass []string `json:"require_pass,omitempty"`
	// PartPasses means that tests of this group with a part of their points count as accepted for RequirePass of others.
	PartPasses bool `json:"part_passes,omitempty"`
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
	// Scored means that the checker must give the points of a test that it accepts.
	Scored bool `json:"scored,omitempty"`
	// Whole means that a part of Accept, which a checker gives, is rounded up to a whole number.
	Whole bool `json:"whole,omitempty"`
}

// GroupTests is a group with the tests in it and in its subgroups.
type GroupTests struct {
	Name  string   `json:"name"`
	Tests []string `json:"tests"`
}

// ProblemFormat is a format of problem packages.
type ProblemFormat string
