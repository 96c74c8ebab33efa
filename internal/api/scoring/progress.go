package scoring

import "judged/internal/api"

// Progress says which tests still count while a submission is judged. Its scheme has passed Check.
type Progress struct {
	tests   map[string]place
	scoring bool
	stop    api.Stop
	ended   map[*api.Group]bool // no further member runs
	left    map[string]int      // tests of a group that are not accepted yet, by its name
	done    map[string]bool     // tests that are recorded
}

// place is where a test is in a scheme.
type place struct {
	api.Member
	path []*api.Group // from the root
}

// isIgnored reports whether the points of the test do not count.
func (p place) isIgnored() bool {
	for i, g := range p.path {
		first := g.Members[0]
		if g.IgnoreFirst && (first.Group == nil && first.Test == p.Test ||
			first.Group != nil && i+1 < len(p.path) && first.Group == p.path[i+1]) {
			return true
		}
	}
	return false
}

// NewProgress starts a submission. With the stop rule never only RequirePass leaves tests out.
func (s Scheme) NewProgress(stop api.Stop) *Progress {
	p := &Progress{tests: map[string]place{}, scoring: s.Scoring, stop: stop, ended: map[*api.Group]bool{},
		left: map[string]int{}, done: map[string]bool{}}
	s.walk(func(path []*api.Group, m api.Member) {
		p.tests[m.Test] = place{m, path}
		for _, g := range path {
			p.left[g.Name]++
		}
	})
	return p
}

// Record notes the report of a test that was run. Noting it twice changes nothing.
func (p *Progress) Record(t api.TestReport) {
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
	if v == api.Accepted {
		for _, g := range path {
			p.left[g.Name]--
		}
		return
	}
	if !v.Failed() {
		return
	}
	for i := len(path) - 1; i >= 0; i-- {
		g := path[i]
		if !g.Continue {
			p.ended[g] = true
		}
		if g.AcceptIfAny || g.Verdict == api.AlwaysAccept {
			return // the group may be accepted all the same
		}
	}
}

// Needs reports whether a test is to be run.
func (p *Progress) Needs(test string) bool {
	for _, g := range p.tests[test].path {
		if p.stop != api.StopNever && p.ended[g] {
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
