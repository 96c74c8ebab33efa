package problem

import (
	"time"

	"judged/internal/base/units"
)

// Bound lowers the limits of the package to the most that this host allows. Each one that is lowered is a finding, by the
// key of the package. A bound of 0 allows all.
func (p *Package) Bound(timeLimit time.Duration, memory, output units.Bytes) {
	keys := map[string]string{"time": "limits.time_limit", "memory": "limits.memory", "output": "limits.output"}
	if p.Format == Polygon {
		keys = map[string]string{"time": "time-limit", "memory": "memory-limit", "output": "output-limit"}
	}
	if timeLimit > 0 && p.Limits.Time > timeLimit {
		p.find("%s is %s; this host allows %s, which is used instead (limits.max.cpu_time)", keys["time"],
			units.Duration(p.Limits.Time), units.Duration(timeLimit))
		p.Limits.Time = timeLimit
	}
	for _, l := range []struct {
		name  string
		limit *units.Bytes
		most  units.Bytes
	}{{"memory", &p.Limits.Memory, memory}, {"output", &p.Limits.Output, output}} {
		if l.most > 0 && *l.limit > l.most {
			p.find("%s is %s; this host allows %s, which is used instead (limits.max.%s)", keys[l.name], *l.limit, l.most,
				l.name)
			*l.limit = l.most
		}
	}
}
