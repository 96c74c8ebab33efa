package dispatch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/job"
	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// recall makes the wards with what was kept of them, before anything runs: a
// slot that was quarantined is not used in between.
func (d *Dispatcher) recall(ctx context.Context) error {
	if d.o.Canary == nil || d.o.CanaryInterval <= 0 {
		return nil
	}
	d.care.Lock()
	defer d.care.Unlock()
	d.host = d.o.Engine.Name()
	for _, slot := range d.o.Pool.Slots() {
		w := &ward{slot: slot, kernels: d.o.Canary.Kernels(slot.CPUs), health: map[string]memory{}, virtual: d.o.Engine.Virtual(), due: time.Now()}
		for _, kernel := range w.kernels {
			var m memory
			if _, err := d.o.Store.Value(ctx, &m, d.name(w, kernel)...); err != nil {
				return fmt.Errorf("recall the health of slot %s: %w", slot.CPUs, err)
			}
			w.health[kernel] = m
		}
		d.wards = append(d.wards, w)
		d.settle(w)
	}
	th := d.o.Engine.Thresholds() // stays where what was kept says nothing
	found, err := d.o.Store.Value(ctx, &th, d.thresholdsName()...)
	if err != nil {
		return fmt.Errorf("recall the thresholds of evidence: %w", err)
	}
	if found {
		d.o.Engine.SetThresholds(th)
	}
	return d.recallGuard(ctx)
}

// name is under which a kernel's health is kept. Another host and another
// canary learn anew.
func (d *Dispatcher) name(w *ward, kernel string) []string {
	return []string{"canary", d.host, d.o.Canary.Digest(), w.slot.CPUs.String(), kernel}
}

func (d *Dispatcher) thresholdsName() []string {
	return []string{"thresholds", d.host, d.o.Canary.Digest()}
}

// keep makes the health of a kernel outlive this process.
func (d *Dispatcher) keep(ctx context.Context, w *ward, kernel string) {
	if err := d.o.Store.SetValue(ctx, w.health[kernel], d.name(w, kernel)...); err != nil {
		d.o.Log.Warn("cannot keep what a canary says; after a restart it is learned again", "cpus", w.slot.CPUs.String(), "kernel", kernel, "error", err)
	}
}

// mostObserved is how many canaries the thresholds are learned from: those of
// late, of all slots.
const mostObserved = 400

// relearn learns what runs look like here that nothing has lengthened: by the
// time of a canary, never by its causes.
func (d *Dispatcher) relearn(ctx context.Context) {
	d.care.Lock()
	defer d.care.Unlock()
	var clean []evidence.Observation
	for _, o := range d.observed {
		if b := d.ward(o.CPUs).health[o.Kernel].Baseline; b.Center > 0 && b.Beyond(o.CPUTime) == stats.NoShift {
			clean = append(clean, o.Observation)
		}
	}
	if len(clean) < evidence.LearnFrom {
		return
	}
	th := d.o.Engine.Thresholds().Learned(clean).WithNeighbours(d.besideNeighbours())
	if th == d.thresholds {
		return
	}
	d.thresholds = th
	d.o.Engine.SetThresholds(th)
	if err := d.o.Store.SetValue(ctx, th, d.thresholdsName()...); err != nil {
		d.o.Log.Warn("cannot keep the thresholds of evidence; after a restart they are learned again", "error", err)
	}
}

// besideNeighbours is how much longer than usual the kernels in memory took, as ratios, when
// the neighbours were busy most of the time. The kernel of the last level cache is not
// among them: a neighbour costs it many times what it costs any solution.
func (d *Dispatcher) besideNeighbours() []float64 {
	var longer []float64
	for _, r := range d.observed {
		b, busy := d.ward(r.CPUs).health[r.Kernel].Baseline, r.Evidence.NeighboursBusy
		inMemory := r.Kernel == initproc.KernelDRAM || r.Kernel == initproc.KernelTriad
		if inMemory && b.Center > 0 && busy != nil && *busy > 0.5 {
			longer = append(longer, b.Deviation(r.CPUTime))
		}
	}
	return longer
}

func (d *Dispatcher) ward(cpus string) *ward {
	i := slices.IndexFunc(d.wards, func(w *ward) bool { return w.slot.CPUs.String() == cpus })
	if i < 0 {
		return nil
	}
	return d.wards[i]
}

// count takes in how the runs of a job were disturbed, each where it was.
func (d *Dispatcher) count(r *job.Report) {
	d.care.Lock()
	defer d.care.Unlock()
	for _, t := range r.Tests {
		for _, run := range t.Runs {
			if w := d.ward(run.CPUs); w != nil {
				w.runs.add(external(run))
			}
		}
	}
	for _, w := range d.wards {
		d.settle(w)
	}
}

// Snapshot is all slots as operators see them.
func (d *Dispatcher) Snapshot() []slots.Status { return d.o.Pool.Snapshot() }

// Drain takes a slot out of use until Undrain, also beyond a quarantine.
func (d *Dispatcher) Drain(cpus cpuset.Set, reason string) error {
	return d.o.Pool.Hold(cpus, slots.Hold{Cause: slots.Operator, Reason: reason})
}

// Undrain puts a slot back to use. Of one that was quarantined everything is
// learned anew: who overrules its canaries has changed it.
func (d *Dispatcher) Undrain(cpus cpuset.Set) error {
	d.care.Lock()
	defer d.care.Unlock()
	if w := d.ward(cpus.String()); w != nil && w.held != "" {
		w.forget()
		for _, kernel := range w.kernels {
			d.keep(context.Background(), w, kernel)
		}
	}
	return d.o.Pool.Lift(cpus)
}
