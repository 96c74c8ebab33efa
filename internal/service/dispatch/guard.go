package dispatch

import (
	"context"
	"fmt"
	"slices"

	"judged/internal/engine/canary"
	"judged/internal/timing/stats"
)

func (d *Dispatcher) guardName() []string {
	return []string{"guard", d.host, d.o.Canary.Digest()}
}

// recallGuard decides by the guard band that was learned before.
func (d *Dispatcher) recallGuard(ctx context.Context) error {
	var g stats.Guard
	found, err := d.o.Store.Value(ctx, &g, d.guardName()...)
	if err != nil {
		return fmt.Errorf("recall the guard band of the pool: %w", err)
	}
	if found {
		d.guard = g
		d.o.Engine.SetGuard(g)
	}
	return nil
}

// relearnGuard learns how much the times of undisturbed programs vary here, of
// the canaries of late. Which were undisturbed is said by their evidence, as it
// is of any run: by their times it would be a band that they fit by choice.
func (d *Dispatcher) relearnGuard(ctx context.Context) {
	d.care.Lock()
	defer d.care.Unlock()
	var relative []float64
	for _, r := range d.observed {
		w := d.ward(r.CPUs)
		if b := w.health[r.Kernel].Baseline; w.tellsNoise(r.Kernel) && !misled(r) && b.Center > 0 {
			relative = append(relative, 1+b.Deviation(r.CPUTime))
		}
	}
	g := stats.DefaultGuard().Learn(relative)
	if len(relative) < stats.GuardFrom || g == d.guard {
		return
	}
	d.guard = g
	d.o.Engine.SetGuard(g)
	if err := d.o.Store.SetValue(ctx, g, d.guardName()...); err != nil {
		d.o.Log.Warn("cannot keep the guard band of the pool; after a restart it is learned again", "error", err)
	}
}

// tellsNoise reports whether a kernel's readings vary as a solution's would. A
// slot that has moved is out of use, or has a new neighbour.
func (w *ward) tellsNoise(kernel string) bool {
	return slices.Contains(canary.Noise(w.virtual), kernel) && w.health[kernel].State != stats.Shifted
}
