package sandbox

import "time"

// othersCPUTime is the CPU time of the runs that share the limit of this one.
func (s *Sandbox) othersCPUTime() (sum time.Duration, err error) {
	for _, o := range s.others {
		base := o.base.Load()
		if base == nil {
			continue // it has not started
		}
		total, err := o.group.CPUTime()
		if err != nil {
			return 0, err
		}
		sum += total - base.Total
	}
	return sum, nil
}

// progressOfAll completes the progress of runs that share a limit: user time is that of all. They wait for each other,
// which is no noise: at most as long as the others used the CPU, and that is no part of what this one waited.
func (s *Sandbox) progressOfAll(p Progress) (Progress, error) {
	others, err := s.othersCPUTime()
	if err != nil {
		return Progress{}, err
	}
	if p.Waited != nil {
		p.Waited = new(max(*p.Waited-others, 0))
	}
	var user time.Duration
	for _, o := range append([]*Sandbox{s}, s.others...) {
		base := o.base.Load()
		if base == nil {
			continue
		}
		now, err := o.group.CPU()
		if err != nil {
			return Progress{}, err
		}
		used := difference(now.User, base.User)
		if used == nil {
			p.UserTime = nil
			return p, nil
		}
		user += *used
	}
	p.UserTime = &user
	return p, nil
}
