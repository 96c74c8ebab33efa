package slothealth

import (
	"context"
	"time"

	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/stats"
)

// quietPatience is how long a run that confirms another waits for a quiet slot
// or another core, with the slot of its job idle. A job on a neighbouring slot
// has ended by then, or is a long one.
const quietPatience = 2 * time.Second

// Borrow finds the place of one more run for the job that has the lease.
func (m *Monitor) Borrow(ctx context.Context, lease *slots.Lease, p stats.Placement) (measure.Place, error) {
	loan, err := lease.Borrow(ctx, slots.Wish{Quiet: p.Quiet, OtherCore: p.OtherCore}, quietPatience)
	if err != nil {
		return measure.Place{}, err
	}
	slot := loan.Slot()
	giveBack := func() {
		loan.Release()
		_ = lease.Resume(ctx) // fails with ctx only, which the next run sees
	}
	if p.OtherCore && m.o.Engine.Fit(slot.CPUs) != nil {
		giveBack()
		p.OtherCore = false
		return m.Borrow(ctx, lease, p)
	}
	worker := m.o.Engine.Worker(slot)
	release := func() {
		worker.Tidy()
		giveBack()
	}
	return measure.Place{Worker: worker, Release: release, Deviation: func(ctx context.Context) float64 { return m.deviation(ctx, slot) }}, nil
}

// deviation reads the short kernels on a slot that the caller holds, and returns
// the deviation of the first one that is beyond its guard band. Kernels without
// a baseline are skipped.
func (m *Monitor) deviation(ctx context.Context, slot slots.Slot) float64 {
	for _, kernel := range initproc.ShortKernels() {
		b, ok := m.baseline(slot, kernel)
		if !ok {
			continue
		}
		r, err := m.o.Canary.Read(ctx, slot, kernel)
		if err != nil {
			if ctx.Err() == nil {
				m.o.Log.Warn("cannot read canary next to a run", "cpus", slot.CPUs.String(), "kernel", kernel, "error", err)
			}
			return 0
		}
		if b.Beyond(r.CPUTime) != stats.NoShift {
			return b.Deviation(r.CPUTime)
		}
	}
	return 0
}

func (m *Monitor) baseline(slot slots.Slot, kernel string) (stats.Baseline, bool) {
	m.health.Lock()
	defer m.health.Unlock()
	s := m.slot(slot.CPUs.String())
	if s == nil {
		return stats.Baseline{}, false
	}
	return s.health[kernel].Baseline, s.health[kernel].learned()
}
