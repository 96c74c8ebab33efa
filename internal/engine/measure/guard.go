package measure

import (
	"judged/internal/timing/stats"
)

// SetGuard has the tests to come decided with g around their limits.
func (s *Worker) SetGuard(g stats.Guard) { s.guard.Store(&g) }

// rule is how a test is decided here.
func (s *Worker) rule(q Request) stats.Rule {
	g := s.guard.Load()
	if g == nil {
		g = new(stats.DefaultGuard())
	}
	return stats.Rule{Policy: q.Repeats.Policy, Limit: q.Limits.CPUTime(), Guard: *g, Min: q.Repeats.Min, Max: q.Repeats.Max}
}
