package dispatch

import (
	"context"

	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/timing/stats"
)

// place returns the place for one more run of the job that has the lease.
func (d *Dispatcher) place(ctx context.Context, lease *slots.Lease, p stats.Placement) (measure.Place, error) {
	loan, err := d.o.Health.Borrow(ctx, lease, p)
	if err != nil {
		return measure.Place{}, err
	}
	slot := loan.Slot()
	return measure.Place{
		Worker:    d.o.Engine.Worker(slot),
		Deviation: func(ctx context.Context) float64 { return d.o.Health.Deviation(ctx, slot) },
		Release: func() {
			d.o.Engine.Tidy(slot)
			loan.Release()
			_ = lease.Resume(ctx) // fails only if ctx is done, which the next run notices
		},
	}, nil
}
