package slothealth

import (
	"context"
	"time"

	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/stats"
)

// quietPatience is how long a run that confirms another waits for its place,
// with the slot of its job idle: a job beside it has ended by then, or is a long
// one.
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

// deviation reads the short kernels on a slot that the caller has, and returns by how much
// the first one beyond its guard band took longer. Those that are still being learned
// are not read.
func (m *Monitor) deviation(ctx context.Context, slot slots.Slot) float64 {
	for _, kernel := range initproc.ShortKernels() {
		b := m.baseline(slot, kernel)
		if b.Center == 0 {
			continue
		}
		r, err := m.o.Canary.Read(ctx, slot, kernel)
		if err != nil {
			if ctx.Err() == nil {
				m.o.Log.Warn("cannot read the canary beside a run", "cpus", slot.CPUs.String(), "kernel", kernel, "error", err)
			}
			return 0
		}
		if b.Beyond(r.CPUTime) != stats.NoShift {
			return b.Deviation(r.CPUTime)
		}
	}
	return 0
}

// baseline is none where there are no canaries.
func (m *Monitor) baseline(slot slots.Slot, kernel string) stats.Baseline {
	m.care.Lock()
	defer m.care.Unlock()
	if w := m.ward(slot.CPUs.String()); w != nil {
		return w.health[kernel].Baseline
	}
	return stats.Baseline{}
}
