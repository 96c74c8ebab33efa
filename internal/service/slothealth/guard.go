package slothealth

import (
	"context"
	"fmt"
	"slices"

	"judged/internal/timing/canary"
	"judged/internal/timing/stats"
)

func (m *Monitor) guardName() []string {
	return []string{"guard", m.host, m.o.Canary.Digest()}
}

// recallGuard decides by the guard band that was learned before.
func (m *Monitor) recallGuard(ctx context.Context) error {
	var g stats.Guard
	found, err := m.o.Store.Value(ctx, &g, m.guardName()...)
	if err != nil {
		return fmt.Errorf("recall the guard band of the pool: %w", err)
	}
	if found {
		m.guard = g
		m.o.Engine.SetGuard(g)
	}
	return nil
}

// relearnGuard learns how much the times of undisturbed programs vary here, of
// the canaries of late. Which were undisturbed is said by their evidence, as it
// is of any run: by their times it would be a band that they fit by choice.
func (m *Monitor) relearnGuard(ctx context.Context) {
	m.care.Lock()
	defer m.care.Unlock()
	var relative []float64
	for _, r := range m.observed {
		w := m.ward(r.CPUs)
		if b := w.health[r.Kernel].Baseline; w.tellsNoise(r.Kernel) && !misled(r) && b.Center > 0 {
			relative = append(relative, 1+b.Deviation(r.CPUTime))
		}
	}
	g := stats.DefaultGuard().Learn(relative)
	if len(relative) < stats.GuardFrom || g == m.guard {
		return
	}
	m.guard = g
	m.o.Engine.SetGuard(g)
	if err := m.o.Store.SetValue(ctx, g, m.guardName()...); err != nil {
		m.o.Log.Warn("cannot keep the guard band of the pool; after a restart it is learned again", "error", err)
	}
}

// tellsNoise reports whether a kernel's readings vary as a solution's would. A
// slot that has moved is out of use, or has a new neighbour.
func (w *ward) tellsNoise(kernel string) bool {
	return slices.Contains(canary.Noise(w.virtual), kernel) && w.health[kernel].State != stats.Shifted
}
