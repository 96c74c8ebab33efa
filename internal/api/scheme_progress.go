package api

// Progress decides which tests still count while a submission is judged. Its scheme must have passed Check.
type Progress struct {
	tests   map[string]testPlace
	scoring bool
	stop    Stop
	// ended holds the groups of which no more members run, with the member that failed: a group, or nil for a test. That
	// group itself comes to its end.
	ended map[*Group]*Group
	left  map[string]int  // number of tests of a group, by its name, that have not passed yet
	done  map[string]bool // recorded tests
}

// testPlace is the position of a test in a scheme.
type testPlace struct {
	Member
	path []*Group // from the root
}

// below returns the member of a group of the path that contains the test: a group, or nil for the test itself.
func (p testPlace) below(i int) *Group {
	if i+1 < len(p.path) {
		return p.path[i+1]
	}
	return nil
}

// isIgnored reports whether the points of the test do not count.
func (p testPlace) isIgnored() bool {
	for i, g := range p.path {
		first := g.Members[0]
		if g.IgnoreFirst && (first.Group == nil && first.Test == p.Test ||
			first.Group != nil && i+1 < len(p.path) && first.Group == p.path[i+1]) {
			return true
		}
	}
	return false
}

// NewProgress starts a submission. With the stop rule never, only RequirePass excludes tests.
func (s Scheme) NewProgress(stop Stop) *Progress {
	p := &Progress{tests: map[string]testPlace{}, scoring: s.Scoring, stop: stop, ended: map[*Group]*Group{},
		left: map[string]int{}, done: map[string]bool{}}
	s.walk(func(path []*Group, m Member) {
		p.tests[m.Test] = testPlace{m, path}
		for _, g := range path {
			p.left[g.Name]++
		}
	})
	return p
}

// Record records the report of a test that was run. Recording it twice changes nothing.
func (p *Progress) Record(t TestReport) {
	if p.done[t.Name] {
		return
	}
	p.done[t.Name] = true
	at := p.tests[t.Name]
	path := at.path
	v := t.Verdict
	if n, err := outcome(at, t, p.scoring); err == nil {
		v = n.verdict
	}
	for _, g := range path {
		if v == Accepted || v == Partial && g.PartPasses {
			p.left[g.Name]--
		}
	}
	if !v.Failed() {
		return
	}
	for i := len(path) - 1; i >= 0; i-- {
		g := path[i]
		if _, ended := p.ended[g]; !ended && !g.Continue {
			p.ended[g] = at.below(i)
		}
		if g.AcceptIfAny || g.Verdict == AlwaysAccept || g.Aggregation == Custom {
			return // the group may still be accepted
		}
	}
}

// Needs reports whether a test must be run.
func (p *Progress) Needs(test string) bool {
	at := p.tests[test]
	for i, g := range at.path {
		by, ended := p.ended[g]
		if p.stop != StopNever && ended && (by == nil || by != at.below(i)) {
			return false
		}
		for _, required := range g.RequirePass {
			if p.left[required] > 0 {
				return false
			}
		}
	}
	return true
}
