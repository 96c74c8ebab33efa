package dispatch

import (
	"context"
	"time"

	"judged/internal/slots"
)

// canaries takes readings on the idle slots, at once and then at every
// interval, until ctx is done. A busy slot is passed over: a job comes first.
func (d *Dispatcher) canaries(ctx context.Context) {
	if d.o.Canary == nil || d.o.CanaryInterval <= 0 {
		return
	}
	tick := time.NewTicker(d.o.CanaryInterval)
	defer tick.Stop()
	for {
		d.readIdle(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// readIdle reads every slot that is idle now. Lease hands out the slot that was
// idle longest, so going round as often as there are idle slots meets them all.
func (d *Dispatcher) readIdle(ctx context.Context) {
	done := map[string]bool{}
	for range d.idle() {
		waiting, cancel := context.WithTimeout(ctx, leaseWait)
		lease, err := d.o.Pool.Lease(waiting)
		cancel()
		if err != nil {
			return // all are busy by now
		}
		if cpus := lease.Slot().CPUs.String(); !done[cpus] {
			done[cpus] = true
			d.read(ctx, lease.Slot())
		}
		lease.Release()
	}
}

// leaseWait is how long a canary waits for a slot before it gives way.
const leaseWait = 100 * time.Millisecond

func (d *Dispatcher) idle() int {
	n := 0
	for _, s := range d.o.Pool.Snapshot() {
		if s.State == slots.Idle {
			n++
		}
	}
	return n
}

func (d *Dispatcher) read(ctx context.Context, slot slots.Slot) {
	stand := d.o.Court.Stand(slot)
	readings, err := d.o.Canary.Run(ctx, stand)
	stand.Tidy()
	if err != nil && ctx.Err() == nil {
		d.o.Log.Warn("cannot read the canary", "cpus", slot.CPUs.String(), "error", err)
	}
	for _, r := range readings {
		d.o.Observer.CanaryDone(r.CPUs, r.Kernel, r.CPUTime, r.Deviation)
	}
}
