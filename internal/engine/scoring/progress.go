package scoring

import "judged/internal/base/job"

// Progress says which tests still count while a submission is judged.
type Progress struct {
	paths map[string][]*job.Group // of each test, from the root
	stop  job.Stop
	ended map[*job.Group]bool // no further member runs
	left  map[string]int      // tests of a group that are not accepted yet, by its name
	done  map[string]bool     // tests that are recorded
}

// NewProgress starts a submission. With the stop rule never only RequirePass leaves tests out.
func (s Scheme) NewProgress(stop job.Stop) *Progress {
	p := &Progress{paths: map[string][]*job.Group{}, stop: stop, ended: map[*job.Group]bool{}, left: map[string]int{},
		done: map[string]bool{}}
	s.walk(func(path []*job.Group, m job.Member) {
		p.paths[m.Test] = path
		for _, g := range path {
			p.left[g.Name]++
		}
	})
	return p
}

// Record notes the verdict of a test. Noting it twice changes nothing.
func (p *Progress) Record(test string, v job.Verdict) {
	if p.done[test] {
		return
	}
	p.done[test] = true
	path := p.paths[test]
	if v == job.Accepted {
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
		if g.AcceptIfAny || g.Verdict == job.AlwaysAccept {
			return // the group may be accepted all the same
		}
	}
}

// Needs reports whether a test is to be run.
func (p *Progress) Needs(test string) bool {
	for _, g := range p.paths[test] {
		if p.stop != job.StopNever && p.ended[g] {
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
