package dispatch

import (
	"context"

	"judged/internal/sandbox/initproc"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// maxReadings is the number of readings, the latest of all slots, from which the thresholds of evidence and the guard
// band are learned.
const maxReadings = 400

// learn updates the thresholds and the guard band from the readings.
func (m *Monitor) learn(ctx context.Context) {
	defer m.flush(ctx)
	m.health.Lock()
	defer m.health.Unlock()
	if th, ok := m.learnThresholds(); ok && th != m.thresholds {
		m.setThresholds(th)
		m.save("thresholds of evidence", th, m.key("thresholds"))
	}
	if g, ok := m.learnGuard(); ok && g != m.guard {
		m.setGuard(g)
		m.save("guard band", g, m.key("guard"))
	}
}

func (m *Monitor) setThresholds(th evidence.Thresholds) {
	m.thresholds = th
	m.o.Engine.SetThresholds(th)
}

func (m *Monitor) setGuard(g stats.Guard) {
	m.guard = g
	m.o.Engine.SetGuard(g)
}

// learnThresholds learns from runs that were not lengthened. The time of a canary decides which those are, never its
// causes.
func (m *Monitor) learnThresholds() (evidence.Thresholds, bool) {
	var clean []evidence.Observation
	for _, r := range m.readings {
		if h := m.slot(r.CPUs).health[r.Kernel]; h.learned() && h.Baseline.Beyond(r.CPUTime) == stats.NoShift {
			clean = append(clean, r.Observation)
		}
	}
	if len(clean) < evidence.LearnFrom {
		return evidence.Thresholds{}, false
	}
	return m.o.Engine.Thresholds().Learned(clean).WithNeighbours(m.neighbourCosts()), true
}

// neighbourCosts returns the ratios by which the kernels in memory took longer than usual while the neighbours were
// busy most of the time. It excludes the kernel of the last-level cache: a neighbour costs it many times what it costs
// any solution.
func (m *Monitor) neighbourCosts() []float64 {
	var costs []float64
	for _, r := range m.readings {
		h, busy := m.slot(r.CPUs).health[r.Kernel], r.Evidence.NeighboursBusy
		inMemory := r.Kernel == initproc.KernelDRAM || r.Kernel == initproc.KernelTriad
		if inMemory && h.learned() && busy != nil && *busy > 0.5 {
			costs = append(costs, h.Baseline.Deviation(r.CPUTime))
		}
	}
	return costs
}

// learnGuard learns how much the times of undisturbed programs vary. Their evidence decides which were undisturbed, as
// for any run: if their times decided, the band would fit them by construction.
func (m *Monitor) learnGuard() (stats.Guard, bool) {
	var relative []float64
	for _, r := range m.readings {
		s := m.slot(r.CPUs)
		if h := s.health[r.Kernel]; s.typical(r.Kernel) && !disturbedReading(r) && h.learned() {
			relative = append(relative, 1+h.Baseline.Deviation(r.CPUTime))
		}
	}
	if len(relative) < stats.GuardFrom {
		return stats.Guard{}, false
	}
	return stats.DefaultGuard().Learn(relative), true
}
