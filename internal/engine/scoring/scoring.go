package scoring

import "judged/internal/base/job"

// Aggregation is how the score of a group comes from those of its members.
type Aggregation string

// The aggregations.
const (
	Sum      Aggregation = "sum"
	Min      Aggregation = "min"
	Max      Aggregation = "max"
	Average  Aggregation = "avg"
	PassFail Aggregation = "pass-fail" // all of MaxScore or 0
)

// VerdictMode is how the verdict of a group comes from those of its members.
type VerdictMode string

// The verdict modes. The first three are those of Kattis' default grader.
const (
	WorstError   VerdictMode = "worst_error"
	FirstError   VerdictMode = "first_error"
	AlwaysAccept VerdictMode = "always_accept"
	// ByScore gives PC where members fail and the score is above 0.
	ByScore VerdictMode = "by_score"
)

// Group is a group of tests. The group of a problem is the root.
type Group struct {
	Name        string
	Members     []Member // in the order in which they run
	Aggregation Aggregation
	Verdict     VerdictMode
	MaxScore    *float64 // nil is unbounded
	RequirePass []string // groups whose tests must all be accepted; a group is not run before
	// Continue runs the members after one that is not accepted.
	Continue bool
	// AcceptIfAny accepts the group if any member is accepted.
	AcceptIfAny bool
	// IgnoreFirst leaves the first of two members out of the result: the samples.
	IgnoreFirst bool
}

// Member is a test, or a group of them.
type Member struct {
	Group *Group // nil is a test
	Test  string
	// Accept and Reject are the scores of a test to which the checker gives none.
	Accept, Reject float64
	MaxScore       *float64 // of a test; nil is unbounded
	// Ratio says that a score of the checker is a part of Accept, and not points.
	Ratio bool
}

// Scheme is how a problem is scored.
type Scheme struct {
	Root *Group
	// Scoring says that submissions get points. Without it the verdicts alone count.
	Scoring bool
}

// FirstFailure reports whether the verdict is that of the first test that is not accepted, and AC without one.
func (s Scheme) FirstFailure() bool {
	plain := true
	s.walk(func(path []*Group, _ Member) {
		for _, g := range path {
			plain = plain && g.Verdict != AlwaysAccept && g.Verdict != ByScore && !g.Continue && !g.AcceptIfAny &&
				!g.IgnoreFirst && len(g.RequirePass) == 0
		}
	})
	return plain
}

// GroupTests is a group with the tests in it and in its parts.
type GroupTests struct {
	Name  string   `json:"name"`
	Tests []string `json:"tests"`
}

// Groups lists the groups below the root, outer ones before their parts.
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

// Tests lists the tests in the order in which they run.
func (s Scheme) Tests() []string {
	var names []string
	s.walk(func(_ []*Group, m Member) { names = append(names, m.Test) })
	return names
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
	visit([]*Group{s.Root})
}

// severity orders verdicts for WorstError, the worst first.
var severity = []job.Verdict{job.InternalError, job.SecurityViolation, job.NotExecutable, job.CompileError, job.RuntimeError,
	job.MemoryLimit, job.TimeLimit, job.WallTimeLimit, job.IdlenessLimit, job.OutputLimit, job.WrongAnswer,
	job.PresentationError}
