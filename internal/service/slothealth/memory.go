package slothealth

import (
	"context"
	"fmt"
	"slices"
	"time"

	"judged/internal/sandbox/initproc"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// Restore brings back what was kept, before any job runs: a slot that was
// quarantined stays out of use.
func (m *Monitor) Restore(ctx context.Context) error {
	if m.o.Interval <= 0 {
		return nil
	}
	m.care.Lock()
	defer m.care.Unlock()
	for _, slot := range m.o.Pool.Slots() {
		w := &ward{slot: slot, kernels: m.o.Canary.Kernels(slot.CPUs), health: map[string]memory{}, virtual: m.o.Engine.Virtual(), due: time.Now()}
		for _, kernel := range w.kernels {
			var kept memory
			if _, err := m.o.Store.Value(ctx, &kept, m.name(w, kernel)...); err != nil {
				return fmt.Errorf("recall the health of slot %s: %w", slot.CPUs, err)
			}
			w.health[kernel] = kept
		}
		m.wards = append(m.wards, w)
		m.settle(w)
	}
	th := m.o.Engine.Thresholds() // stays where what was kept says nothing
	found, err := m.o.Store.Value(ctx, &th, m.thresholdsName()...)
	if err != nil {
		return fmt.Errorf("recall the thresholds of evidence: %w", err)
	}
	if found {
		m.o.Engine.SetThresholds(th)
	}
	return m.recallGuard(ctx)
}

// name is under which a kernel's health is kept. Another host and another
// canary learn anew.
func (m *Monitor) name(w *ward, kernel string) []string {
	return []string{"canary", m.host, m.o.Canary.Digest(), w.slot.CPUs.String(), kernel}
}

func (m *Monitor) thresholdsName() []string {
	return []string{"thresholds", m.host, m.o.Canary.Digest()}
}

// keep makes the health of a kernel outlive this process.
func (m *Monitor) keep(ctx context.Context, w *ward, kernel string) {
	if err := m.o.Store.SetValue(ctx, w.health[kernel], m.name(w, kernel)...); err != nil {
		m.o.Log.Warn("cannot keep what a canary says; after a restart it is learned again", "cpus", w.slot.CPUs.String(), "kernel", kernel, "error", err)
	}
}

// mostObserved is how many canaries the thresholds are learned from: those of
// late, of all slots.
const mostObserved = 400

// relearn learns what runs look like here that nothing has lengthened: by the
// time of a canary, never by its causes.
func (m *Monitor) relearn(ctx context.Context) {
	m.care.Lock()
	defer m.care.Unlock()
	var clean []evidence.Observation
	for _, o := range m.observed {
		if b := m.ward(o.CPUs).health[o.Kernel].Baseline; b.Center > 0 && b.Beyond(o.CPUTime) == stats.NoShift {
			clean = append(clean, o.Observation)
		}
	}
	if len(clean) < evidence.LearnFrom {
		return
	}
	th := m.o.Engine.Thresholds().Learned(clean).WithNeighbours(m.besideNeighbours())
	if th == m.thresholds {
		return
	}
	m.thresholds = th
	m.o.Engine.SetThresholds(th)
	if err := m.o.Store.SetValue(ctx, th, m.thresholdsName()...); err != nil {
		m.o.Log.Warn("cannot keep the thresholds of evidence; after a restart they are learned again", "error", err)
	}
}

// besideNeighbours is how much longer than usual the kernels in memory took, as ratios, when
// the neighbours were busy most of the time. The kernel of the last level cache is not
// among them: a neighbour costs it many times what it costs any solution.
func (m *Monitor) besideNeighbours() []float64 {
	var longer []float64
	for _, r := range m.observed {
		b, busy := m.ward(r.CPUs).health[r.Kernel].Baseline, r.Evidence.NeighboursBusy
		inMemory := r.Kernel == initproc.KernelDRAM || r.Kernel == initproc.KernelTriad
		if inMemory && b.Center > 0 && busy != nil && *busy > 0.5 {
			longer = append(longer, b.Deviation(r.CPUTime))
		}
	}
	return longer
}

func (m *Monitor) ward(cpus string) *ward {
	i := slices.IndexFunc(m.wards, func(w *ward) bool { return w.slot.CPUs.String() == cpus })
	if i < 0 {
		return nil
	}
	return m.wards[i]
}
