package scoring

import "judged/internal/api"

// Scheme defines how a problem is scored.
type Scheme api.Scheme

// Groups returns the groups below the root, outer ones before their subgroups.
func (s Scheme) Groups() []api.GroupTests {
	groups, index := []api.GroupTests{}, map[*api.Group]int{}
	s.walk(func(path []*api.Group, m api.Member) {
		for _, g := range path[1:] {
			i, known := index[g]
			if !known {
				i = len(groups)
				index[g], groups = i, append(groups, api.GroupTests{Name: g.Name})
			}
			groups[i].Tests = append(groups[i].Tests, m.Test)
		}
	})
	return groups
}

// Tests returns the tests in the order in which they run.
func (s Scheme) Tests() []string { return api.Scheme(s).Tests() }

// walk calls f for each test with the groups that contain it, from the root.
func (s Scheme) walk(f func(path []*api.Group, m api.Member)) {
	var visit func(path []*api.Group)
	visit = func(path []*api.Group) {
		for _, m := range path[len(path)-1].Members {
			if m.Group != nil {
				visit(append(path[:len(path):len(path)], m.Group))
			} else {
				f(path, m)
			}
		}
	}
	visit([]*api.Group{s.Root})
}

// eachGroup calls f for each group, outer ones before their subgroups.
func (s Scheme) eachGroup(f func(*api.Group)) {
	var visit func(g *api.Group)
	visit = func(g *api.Group) {
		f(g)
		for _, m := range g.Members {
			if m.Group != nil {
				visit(m.Group)
			}
		}
	}
	visit(s.Root)
}

// severity orders verdicts for WorstError, worst first.
var severity = []api.Verdict{api.InternalError, api.SecurityViolation, api.NotExecutable, api.CompileError,
	api.RuntimeError,
	api.MemoryLimit, api.TimeLimit, api.WallTimeLimit, api.IdlenessLimit, api.OutputLimit, api.WrongAnswer,
	api.PresentationError}
