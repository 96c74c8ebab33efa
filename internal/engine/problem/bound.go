package problem

import (
	"time"

	"judged/internal/base/units"
)

// Bound lowers the limits of the package to the maxima of this host, and adds a finding for each lowered limit. A
// maximum of 0 means no limit.
func (p *Package) Bound(timeLimit time.Duration, memory, output units.Bytes) {
	keys := map[string]string{"time": "limits.time_limit", "memory": "limits.memory", "output": "limits.output"}
	switch p.Format {
	case Polygon:
		keys = map[string]string{"time": "time-limit", "memory": "memory-limit", "output": "output-limit"}
	case CMS, Sinol:
		keys = map[string]string{"time": "time_limit", "memory": "memory_limit"}
	case DMOJ:
		keys = map[string]string{"output": "output_limit_length"}
	}
	if timeLimit > 0 && p.Limits.Time > timeLimit {
		p.find("%s is %s; lowered to %s, the maximum of this host (limits.max.cpu_time)", keys["time"],
			units.Duration(p.Limits.Time), units.Duration(timeLimit))
		p.Limits.Time = timeLimit
	}
	for _, l := range []struct {
		name  string
		limit *units.Bytes
		most  units.Bytes
	}{{"memory", &p.Limits.Memory, memory}, {"output", &p.Limits.Output, output}} {
		if l.most > 0 && *l.limit > l.most {
			p.find("%s is %s; lowered to %s, the maximum of this host (limits.max.%s)", keys[l.name], *l.limit, l.most,
				l.name)
			*l.limit = l.most
		}
	}
	for i := range p.Tests {
		p.boundTest(&p.Tests[i], timeLimit, memory)
	}
}

// boundTest lowers the own limits of a test.
func (p *Package) boundTest(t *Test, timeLimit time.Duration, memory units.Bytes) {
	if timeLimit > 0 && t.Limits.CPUTime() > timeLimit {
		p.find("the time limit of test %s is %s; lowered to %s, the maximum of this host (limits.max.cpu_time)", t.Name,
			units.Duration(t.Limits.CPUTime()), units.Duration(timeLimit))
		t.Limits.CPUTimeMS = timeLimit.Milliseconds()
	}
	if memory > 0 && t.Limits.Memory > memory {
		p.find("the memory limit of test %s is %s; lowered to %s, the maximum of this host (limits.max.memory)", t.Name,
			t.Limits.Memory, memory)
		t.Limits.Memory = memory
	}
}

// DropTimeLimits makes the time limit of the package that of all tests, and returns the tests that had their own.
func (p *Package) DropTimeLimits() (names []string) {
	for i := range p.Tests {
		if t := &p.Tests[i]; t.Limits.CPUTime() > 0 {
			t.Limits.CPUTimeMS, t.Limits.WallTimeMS = 0, 0
			names = append(names, t.Name)
		}
	}
	return names
}
