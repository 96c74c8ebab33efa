package dispatch

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

// placesBeside finds places for the runs of the job that has the lease.
func (d *Dispatcher) placesBeside(lease *slots.Lease) func(context.Context, stats.Placement) (measure.Place, error) {
	return func(ctx context.Context, p stats.Placement) (measure.Place, error) {
		loan, err := lease.Borrow(ctx, slots.Wish{Quiet: p.Quiet, OtherCore: p.OtherCore}, quietPatience)
		if err != nil {
			return measure.Place{}, err
		}
		slot := loan.Slot()
		release := func() {
			d.o.Engine.Worker(slot).Tidy()
			loan.Release()
			_ = lease.Resume(ctx) // fails with ctx only, which the next run sees
		}
		if p.OtherCore && d.o.Engine.Fit(slot.CPUs) != nil {
			release()
			p.OtherCore = false
			return d.placesBeside(lease)(ctx, p)
		}
		return measure.Place{Worker: d.o.Engine.Worker(slot), Release: release,
			Deviation: func(ctx context.Context) float64 { return d.deviation(ctx, slot) }}, nil
	}
}

// deviation reads the short kernels on a slot that the caller has, and returns by how much
// the first one beyond its guard band took longer. Those that are still being learned
// are not read.
func (d *Dispatcher) deviation(ctx context.Context, slot slots.Slot) float64 {
	for _, kernel := range initproc.ShortKernels() {
		b := d.baseline(slot, kernel)
		if b.Center == 0 {
			continue
		}
		r, err := d.o.Canary.Read(ctx, slot, kernel)
		if err != nil {
			if ctx.Err() == nil {
				d.o.Log.Warn("cannot read the canary beside a run", "cpus", slot.CPUs.String(), "kernel", kernel, "error", err)
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
func (d *Dispatcher) baseline(slot slots.Slot, kernel string) stats.Baseline {
	d.care.Lock()
	defer d.care.Unlock()
	if w := d.ward(slot.CPUs.String()); w != nil {
		return w.health[kernel].Baseline
	}
	return stats.Baseline{}
}
