package slothealth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"judged/internal/host/slots"
	"judged/internal/timing/canary"
	"judged/internal/timing/stats"
)

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

// Run takes readings on idle and on quarantined slots until ctx is done, one
// slot after the other: two at once would measure each other.
func (m *Monitor) Run(ctx context.Context) {
	if len(m.wards) == 0 {
		return
	}
	for ctx.Err() == nil {
		m.lookForDrift()
		until := time.Now().Add(driftEvery)
		for _, w := range m.wards {
			until = earlier(until, m.visit(ctx, w))
		}
		rest(ctx, time.Until(until))
	}
}

// givesWay reports whether a canary waits for a quieter time: jobs come and go,
// and it is not yet late by an interval.
func givesWay(sinceJob, late, interval time.Duration) bool {
	return sinceJob < calm && late < interval
}

// rest waits, but not beyond ctx.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// visit reads a set of kernels on a slot if one is due, and says when the next
// is. A set that is broken off for a job goes on where it was.
func (m *Monitor) visit(ctx context.Context, w *ward) time.Time {
	kernels, due := m.begun(w)
	if time.Now().Before(due) {
		return due
	}
	if m.outOfReach(w) {
		return time.Now().Add(busyAgain)
	}
	for _, kernel := range kernels {
		if givesWay(m.sinceJob(), time.Since(due), m.o.Interval) {
			return time.Now().Add(busyAgain)
		}
		r, err := m.read(ctx, w, kernel)
		switch {
		case ctx.Err() != nil:
			return time.Time{}
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, slots.ErrWanted): // a job has the slot
			return time.Now().Add(busyAgain)
		case err != nil:
			m.o.Log.Warn("cannot read the canary", "cpus", w.slot.CPUs.String(), "error", err)
			return m.ended(w, false)
		}
		m.learn(ctx, w, r)
	}
	m.relearn(ctx)
	m.relearnGuard(ctx)
	return m.ended(w, true)
}

// begun is what is to be read, and from when on.
func (m *Monitor) begun(w *ward) ([]string, time.Time) {
	m.care.Lock()
	defer m.care.Unlock()
	if len(w.todo) == 0 {
		w.todo = w.next()
	}
	return w.todo, w.due
}

// ended says when the next set is due. What has failed is not tried at once.
func (m *Monitor) ended(w *ward, well bool) time.Time {
	m.care.Lock()
	defer m.care.Unlock()
	w.todo = nil
	w.schedule(time.Now(), m.o.Interval)
	if !well {
		w.due = time.Now().Add(m.o.Interval)
	}
	return w.due
}

// outOfReach reports whether somebody has taken the slot out of use: canaries
// are no reason to work there. And what it is like while the host is not fit is
// not to become its baseline.
func (m *Monitor) outOfReach(w *ward) bool {
	s := m.status(w)
	return s.State == slots.Drained || s.State == slots.Draining || m.o.Engine.Fit(w.slot.CPUs) != nil
}

func (m *Monitor) status(w *ward) slots.Status {
	for _, s := range m.o.Pool.Snapshot() {
		if s.CPUs == w.slot.CPUs.String() {
			return s
		}
	}
	return slots.Status{}
}

// read has the slot for one kernel, or until a job wants it: a reading that was
// cut short says nothing.
func (m *Monitor) read(ctx context.Context, w *ward, kernel string) (r canary.Reading, err error) {
	err = m.o.Pool.Examine(ctx, w.slot.CPUs, leaseWait, func(ctx context.Context) error {
		r, err = m.o.Canary.Read(ctx, w.slot, kernel)
		return err
	})
	return r, err
}

// learn takes a reading in, keeps what follows from it and acts on it.
func (m *Monitor) learn(ctx context.Context, w *ward, r canary.Reading) {
	m.care.Lock()
	defer m.care.Unlock()
	before, after := w.take(r)
	if len(w.todo) > 0 { // else it was forgotten meanwhile
		w.todo = w.todo[1:]
	}
	m.o.Observer.CanaryDone(r.CPUs, r.Kernel, r.CPUTime, after.deviation())
	if before.State != stats.Shifted && after.State == stats.Shifted && w.trouble() == "" {
		m.o.Log.Warn("a canary has another time than it had; a neighbour has come or gone", "cpus", r.CPUs, "kernel", r.Kernel,
			"shift", after.Shift, "deviation_ratio", after.Deviation)
	}
	m.keep(ctx, w, r.Kernel)
	m.observed = append(m.observed, r)
	m.observed = m.observed[max(0, len(m.observed)-mostObserved):]
	m.settle(w)
}

// settle makes the pool use the slot or not, as it deserves. It needs the lock.
func (m *Monitor) settle(w *ward) {
	trouble := w.trouble()
	cpus := w.slot.CPUs.String()
	switch {
	case trouble != "" && w.held == "":
		if w.shifted() == "" && m.last(w) {
			if !w.told {
				m.o.Log.Warn("a slot is disturbed too often; it is the last one and stays in use", "cpus", cpus, "reason", trouble)
			}
			w.told = true
			return
		}
		m.o.Log.Warn("a slot is quarantined; it comes back by itself when its canaries are well again", "cpus", cpus, "reason", trouble)
		w.held = trouble
		m.logError(m.o.Pool.Hold(w.slot.CPUs, slots.Hold{Cause: slots.Quarantine, Reason: trouble}))
	case trouble == "" && w.held != "":
		m.o.Log.Info("a slot is back in use", "cpus", cpus, "was", w.held)
		m.logError(m.o.Pool.Lift(w.slot.CPUs, slots.Quarantine))
		w.held, w.runs = "", history{}
	}
	w.told = w.told && trouble != ""
}

// logError logs what cannot happen: every slot is one of the pool.
func (m *Monitor) logError(err error) {
	if err != nil {
		m.o.Log.Error("cannot change a slot", "error", err)
	}
}

// last reports whether no other slot is in use.
func (m *Monitor) last(w *ward) bool {
	for _, s := range m.o.Pool.Snapshot() {
		if s.CPUs != w.slot.CPUs.String() && (s.State == slots.Idle || s.State == slots.Busy) {
			return false
		}
	}
	return true
}

// lookForDrift has slots read at once whose host is not set as it was, once it
// is fit again: another frequency shows in their times.
func (m *Monitor) lookForDrift() {
	failed := strings.Join(m.o.Doctor().FailedIDs(), ",")
	for _, w := range m.wards {
		setting := fmt.Sprint(m.o.Engine.Turbo(w.slot.CPUs).Value, m.o.Engine.Fit(w.slot.CPUs), failed)
		m.care.Lock()
		if w.setting != "" && w.setting != setting {
			w.due, w.streak = time.Now(), 0
		}
		w.setting = setting
		m.care.Unlock()
	}
}
