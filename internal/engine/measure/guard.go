package measure

import "judged/internal/timing/stats"

// SetGuard sets the guard band around limits, from the next test on.
func (w *Worker) SetGuard(g stats.Guard) { w.guard.Store(&g) }

// rule returns the decision rule of a test.
func (w *Worker) rule(q Request) stats.Rule {
	g := w.guard.Load()
	if g == nil {
		g = new(stats.DefaultGuard())
	}
	return stats.Rule{Policy: q.Repeats.Policy, Limit: q.Limits.CPUTime(), Guard: *g, Min: q.Repeats.Min,
		Max: q.Repeats.Max}
}
