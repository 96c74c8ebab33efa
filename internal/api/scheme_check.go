package api

import (
	"errors"
	"fmt"
	"slices"
)

// Check returns the reason why the scheme cannot be used, or nil. tests are the names of the problem's tests: each
// must be in one group, because a test outside of all groups would not be run.
func (s Scheme) Check(tests []string) error {
	switch {
	case len(tests) == 0:
		return errors.New("there is no test")
	case s.Root == nil:
		return errors.New("the scheme has no root group")
	}
	c := schemeCheck{scheme: s, ended: map[string]bool{}, seen: map[string]bool{}, known: map[string]bool{}}
	s.walkGroups(func(g *Group) { c.known[g.Name] = true })
	if err := c.group(s.Root); err != nil {
		return err
	}
	given := map[string]bool{}
	for _, name := range tests {
		if given[name] = true; !c.seen["test "+name] {
			return fmt.Errorf("test %q is in no group", name)
		}
	}
	for _, name := range s.Tests() {
		if !given[name] {
			return fmt.Errorf("test %q of a group is not a test of the problem", name)
		}
	}
	return nil
}

// schemeCheck is the state of a walk over groups in the order in which they run.
type schemeCheck struct {
	scheme Scheme
	known  map[string]bool // names of all groups
	ended  map[string]bool // groups whose tests are all before the current position
	seen   map[string]bool // "test NAME" and "group NAME"
}

// What a group can have. Without an aggregation its score is the sum, without a verdict it is that of the first member
// that failed.
var (
	aggregations = []Aggregation{"", Sum, Min, Max, Average, PassFail, Custom}
	verdicts     = []VerdictMode{"", WorstError, FirstError, AlwaysAccept, ByScore}
)

func (c *schemeCheck) group(g *Group) error {
	key := "group " + g.Name
	if c.seen[key] {
		return fmt.Errorf("two groups have the name %q", g.Name)
	}
	c.seen[key] = true
	if len(g.Members) == 0 {
		return fmt.Errorf("group %q has no test", g.Name)
	}
	if g.IgnoreFirst && len(g.Members) != 2 {
		return fmt.Errorf("group %q ignores the first of %d members; want 2", g.Name, len(g.Members))
	}
	if !slices.Contains(aggregations, g.Aggregation) || !slices.Contains(verdicts, g.Verdict) {
		return fmt.Errorf("group %q has the unknown aggregation %q or verdict %q; was it stored by a newer judged?", g.Name,
			g.Aggregation, g.Verdict)
	}
	if g.Aggregation == Custom && (c.scheme.Grader == nil || !c.scheme.Scoring) {
		return fmt.Errorf("group %q has no grader, or the problem has no scores", g.Name)
	}
	if g.MaxScore != nil && !ValidPoints(*g.MaxScore) {
		return fmt.Errorf("the maximum %v of group %q is out of range", *g.MaxScore, g.Name)
	}
	for _, required := range g.RequirePass {
		switch {
		case !c.known[required]:
			return fmt.Errorf("group %q requires group %q, which does not exist or has no test", g.Name, required)
		case !c.ended[required]:
			return fmt.Errorf("group %q requires group %q, which is not judged before it; require an earlier group",
				g.Name, required)
		}
	}
	for _, m := range g.Members {
		if err := c.member(g, m); err != nil {
			return err
		}
	}
	c.ended[g.Name] = true
	return nil
}

func (c *schemeCheck) member(g *Group, m Member) error {
	if m.Group != nil {
		return c.group(m.Group)
	}
	key := "test " + m.Test
	switch {
	case m.Test == "":
		return fmt.Errorf("group %q has a test without a name", g.Name)
	case c.seen[key]:
		return fmt.Errorf("test %q is in the groups twice", m.Test)
	}
	c.seen[key] = true
	for _, points := range []*float64{&m.Accept, &m.Reject, m.MaxScore} {
		if points != nil && !ValidPoints(*points) {
			return fmt.Errorf("the points %v of test %q are out of range", *points, m.Test)
		}
	}
	return nil
}
