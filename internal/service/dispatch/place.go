package dispatch

import (
	"context"

	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/timing/stats"
)

// Place returns the place for one more run of the job that has the lease.
func Place(ctx context.Context, e Engine, h Health, lease *slots.Lease, p stats.Placement) (measure.Place, error) {
	loan, err := h.Borrow(ctx, lease, p)
	if err != nil {
		return measure.Place{}, err
	}
	slot := loan.Slot()
	return measure.Place{
		Worker:    e.Worker(slot),
		Deviation: func(ctx context.Context) float64 { return h.Deviation(ctx, slot) },
		Release: func() {
			e.Tidy(slot)
			loan.Release()
			_ = lease.Resume(ctx) // fails only if ctx is done, which the next run notices
		},
	}, nil
}
