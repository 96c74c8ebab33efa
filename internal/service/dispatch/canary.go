package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/engine/canary"
	"judged/internal/host/slots"
	"judged/internal/timing/stats"
)

// Canary takes readings of reference kernels.
type Canary interface {
	Digest() string                   // times of two programs do not compare
	Kernels(cpus cpuset.Set) []string // those that say something of a slot
	Read(ctx context.Context, slot slots.Slot, kernel string) (canary.Reading, error)
}

const (
	// leaseWait is how long a canary waits for a slot before it gives way.
	leaseWait = 100 * time.Millisecond
	// busyAgain is when it looks again.
	busyAgain = time.Second
	// calm is how long no job may have come or gone before canaries are read.
	// Between two jobs in a row the slot is idle for a moment, and a canary that
	// took it then would make each job of a queue wait for one kernel.
	calm = time.Second
	// driftEvery is how often the settings of the host are looked at.
	driftEvery = 10 * time.Second
)

// canaries takes readings on idle and on quarantined slots until ctx is done,
// one slot after the other: two at once would measure each other.
func (d *Dispatcher) canaries(ctx context.Context) {
	if len(d.wards) == 0 {
		return
	}
	for ctx.Err() == nil {
		d.lookForDrift()
		until := time.Now().Add(driftEvery)
		for _, w := range d.wards {
			until = earlier(until, d.visit(ctx, w))
		}
		rest(ctx, time.Until(until))
	}
}

// givesWay reports whether a canary waits for a quieter time: jobs come and go,
// and it is not yet late by an interval.
func givesWay(sinceJob, late, interval time.Duration) bool {
	return sinceJob < calm && late < interval
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// visit reads a set of kernels on a slot if one is due, and says when the next
// is. A set that is broken off for a job goes on where it was.
func (d *Dispatcher) visit(ctx context.Context, w *ward) time.Time {
	kernels, due := d.begun(w)
	if time.Now().Before(due) {
		return due
	}
	if d.outOfReach(w) {
		return time.Now().Add(busyAgain)
	}
	for _, kernel := range kernels {
		if givesWay(d.sinceJob(), time.Since(due), d.o.CanaryInterval) {
			return time.Now().Add(busyAgain)
		}
		r, err := d.read(ctx, w, kernel)
		switch {
		case ctx.Err() != nil:
			return time.Time{}
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, slots.ErrWanted): // a job has the slot
			return time.Now().Add(busyAgain)
		case err != nil:
			d.o.Log.Warn("cannot read the canary", "cpus", w.slot.CPUs.String(), "error", err)
			return d.ended(w, false)
		}
		d.learn(ctx, w, r)
	}
	d.relearn(ctx)
	d.relearnGuard(ctx)
	return d.ended(w, true)
}

// begun is what is to be read, and from when on.
func (d *Dispatcher) begun(w *ward) ([]string, time.Time) {
	d.care.Lock()
	defer d.care.Unlock()
	if len(w.todo) == 0 {
		w.todo = w.next()
	}
	return w.todo, w.due
}

// ended says when the next set is due. What has failed is not tried at once.
func (d *Dispatcher) ended(w *ward, well bool) time.Time {
	d.care.Lock()
	defer d.care.Unlock()
	w.todo = nil
	w.schedule(time.Now(), d.o.CanaryInterval)
	if !well {
		w.due = time.Now().Add(d.o.CanaryInterval)
	}
	return w.due
}

// outOfReach reports whether somebody has taken the slot out of use: canaries
// are no reason to work there. And what it is like while the host is not fit is
// not to become its baseline.
func (d *Dispatcher) outOfReach(w *ward) bool {
	s := d.status(w)
	return s.State == slots.Drained || s.State == slots.Draining || d.o.Engine.Fit(w.slot.CPUs) != nil
}

func (d *Dispatcher) status(w *ward) slots.Status {
	for _, s := range d.o.Pool.Snapshot() {
		if s.CPUs == w.slot.CPUs.String() {
			return s
		}
	}
	return slots.Status{}
}

// read has the slot for one kernel, or until a job wants it: a reading that was
// cut short says nothing.
func (d *Dispatcher) read(ctx context.Context, w *ward, kernel string) (r canary.Reading, err error) {
	err = d.o.Pool.Examine(ctx, w.slot.CPUs, leaseWait, func(ctx context.Context) error {
		r, err = d.o.Canary.Read(ctx, w.slot, kernel)
		return err
	})
	return r, err
}

// learn takes a reading in, keeps what follows from it and acts on it.
func (d *Dispatcher) learn(ctx context.Context, w *ward, r canary.Reading) {
	d.care.Lock()
	defer d.care.Unlock()
	before, after := w.take(r)
	if len(w.todo) > 0 { // else it was forgotten meanwhile
		w.todo = w.todo[1:]
	}
	d.o.Observer.CanaryDone(r.CPUs, r.Kernel, r.CPUTime, after.deviation())
	if before.State != stats.Shifted && after.State == stats.Shifted && w.trouble() == "" {
		d.o.Log.Warn("a canary has another time than it had; a neighbour has come or gone", "cpus", r.CPUs, "kernel", r.Kernel,
			"shift", after.Shift, "deviation_ratio", after.Deviation)
	}
	d.keep(ctx, w, r.Kernel)
	d.observed = append(d.observed, r)
	d.observed = d.observed[max(0, len(d.observed)-mostObserved):]
	d.settle(w)
}

// settle makes the pool use the slot or not, as it deserves. It needs the lock.
func (d *Dispatcher) settle(w *ward) {
	trouble := w.trouble()
	cpus := w.slot.CPUs.String()
	switch {
	case trouble != "" && w.held == "":
		if w.shifted() == "" && d.last(w) {
			if !w.told {
				d.o.Log.Warn("a slot is disturbed too often; it is the last one and stays in use", "cpus", cpus, "reason", trouble)
			}
			w.told = true
			return
		}
		d.o.Log.Warn("a slot is quarantined; it comes back by itself when its canaries are well again", "cpus", cpus, "reason", trouble)
		w.held = trouble
		d.tell(d.o.Pool.Hold(w.slot.CPUs, slots.Hold{Cause: slots.Quarantine, Reason: trouble}))
	case trouble == "" && w.held != "":
		d.o.Log.Info("a slot is back in use", "cpus", cpus, "was", w.held)
		d.tell(d.o.Pool.Lift(w.slot.CPUs, slots.Quarantine))
		w.held, w.runs = "", history{}
	}
	w.told = w.told && trouble != ""
}

// tell logs what cannot happen: every ward is of a slot of the pool.
func (d *Dispatcher) tell(err error) {
	if err != nil {
		d.o.Log.Error("cannot change a slot", "error", err)
	}
}

// last reports whether no other slot is in use.
func (d *Dispatcher) last(w *ward) bool {
	for _, s := range d.o.Pool.Snapshot() {
		if s.CPUs != w.slot.CPUs.String() && (s.State == slots.Idle || s.State == slots.Busy) {
			return false
		}
	}
	return true
}

// lookForDrift has slots read at once whose host is not set as it was, once it
// is fit again: another frequency shows in their times.
func (d *Dispatcher) lookForDrift() {
	failed := strings.Join(d.o.Doctor().FailedIDs(), ",")
	for _, w := range d.wards {
		setting := fmt.Sprint(d.o.Engine.Turbo(w.slot.CPUs).Value, d.o.Engine.Fit(w.slot.CPUs), failed)
		d.care.Lock()
		if w.setting != "" && w.setting != setting {
			w.due, w.streak = time.Now(), 0
		}
		w.setting = setting
		d.care.Unlock()
	}
}
