package dispatch

import (
	"context"
	"time"

	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/stats"
)

// quietPatience is how long a run that confirms another waits for a quiet slot or another core while the slot of its
// job is idle. A job on a neighbouring slot has ended by then, or takes long.
const quietPatience = 2 * time.Second

// Borrow returns a slot for one more run of the job that has the lease. If another core is not fit, the job's own slot
// is used. The lease is suspended until its Resume, which comes after the Release of the loan.
func (m *Monitor) Borrow(ctx context.Context, lease *slots.Lease, p stats.Placement) (*slots.Lease, error) {
	loan, err := lease.Borrow(ctx, slots.Wish{Quiet: p.Quiet, OtherCore: p.OtherCore}, quietPatience)
	if err != nil {
		return nil, err
	}
	if p.OtherCore && m.o.Engine.Fit(loan.Slot().CPUs) != nil {
		loan.Release()
		p.OtherCore = false
		return m.Borrow(ctx, lease, p)
	}
	return loan, nil
}

// Deviation reads the short kernels on a slot that the caller holds, and returns
// the deviation of the first one that is beyond its guard band. Kernels without
// a baseline are skipped.
func (m *Monitor) Deviation(ctx context.Context, slot slots.Slot) float64 {
	for _, kernel := range initproc.ShortKernels() {
		b, ok := m.baseline(slot, kernel)
		if !ok {
			continue
		}
		r, err := m.o.Canary.Read(ctx, slot, kernel)
		if err != nil {
			if ctx.Err() == nil {
				m.o.Log.Warn("cannot read canary next to a run",
					"cpus", slot.CPUs.String(), "kernel", kernel, "error", err)
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
