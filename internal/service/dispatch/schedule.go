package dispatch

import (
	"context"
	"errors"
	"time"

	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/timing/stats"
)

const (
	// leaseTimeout is how long a canary waits for a slot before it gives up.
	leaseTimeout = 100 * time.Millisecond
	// retryInterval is the time until it tries again.
	retryInterval = time.Second
	// quietTime is how long no job may have started or ended before canaries are read. Between two consecutive jobs the
	// slot is idle for a moment; a canary that used it would delay each job of a queue by one kernel.
	quietTime = time.Second
)

// givesWay reports whether a canary waits for a quieter time: jobs start and end, and it is late by less than an
// interval.
func givesWay(sinceJob, late, interval time.Duration) bool {
	return sinceJob < quietTime && late < interval
}

// visit reads a set of kernels on a slot if one is due, and returns when the next one is due. A set that is interrupted
// by a job is resumed later.
func (m *Monitor) visit(ctx context.Context, s *slotHealth) time.Time {
	kernels, due := m.nextSet(s)
	if time.Now().Before(due) {
		return due
	}
	if m.unreadable(s) {
		return time.Now().Add(retryInterval)
	}
	for _, kernel := range kernels {
		if givesWay(m.sinceJob(), time.Since(due), m.o.Interval) {
			return time.Now().Add(retryInterval)
		}
		r, err := m.read(ctx, s, kernel)
		switch {
		case ctx.Err() != nil:
			return time.Time{}
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, slots.ErrWanted): // a job has the slot
			return time.Now().Add(retryInterval)
		case err != nil:
			m.o.Log.Warn("cannot read canary; it is read again after canary.interval",
				"cpus", s.slot.CPUs.String(), "error", err)
			return m.finishSet(s, m.o.Interval)
		}
		m.record(ctx, s, r)
	}
	m.learn(ctx)
	return m.finishSet(s, 0)
}

// nextSet returns the kernels to read on a slot, and when they are due.
func (m *Monitor) nextSet(s *slotHealth) ([]string, time.Time) {
	m.health.Lock()
	defer m.health.Unlock()
	if len(s.pending) == 0 {
		s.pending = s.nextSet()
	}
	return s.pending, s.due
}

// finishSet schedules the next set, not before the delay has passed, and returns
// when it is due.
func (m *Monitor) finishSet(s *slotHealth, delay time.Duration) time.Time {
	m.health.Lock()
	defer m.health.Unlock()
	s.pending = nil
	s.schedule(time.Now(), m.o.Interval)
	if soonest := time.Now().Add(delay); s.due.Before(soonest) {
		s.due = soonest
	}
	return s.due
}

// unreadable reports whether the slot was taken out of use, which canaries respect, or the host is not fit, which must
// not become its baseline.
func (m *Monitor) unreadable(s *slotHealth) bool {
	for _, o := range m.o.Pool.Snapshot() {
		if o.CPUs == s.slot.CPUs.String() && (o.State == slots.Drained || o.State == slots.Draining) {
			return true
		}
	}
	return m.o.Engine.Fit(s.slot.CPUs) != nil
}

// read uses the slot for one kernel, or until a job needs it: an interrupted reading has no value.
func (m *Monitor) read(ctx context.Context, s *slotHealth, kernel string) (r measure.Reading, err error) {
	err = m.o.Pool.Examine(ctx, s.slot.CPUs, leaseTimeout, func(ctx context.Context) error {
		r, err = m.o.Canary.Read(ctx, s.slot, kernel)
		return err
	})
	return r, err
}

// record adds a reading, saves what was learned and acts on it.
func (m *Monitor) record(ctx context.Context, s *slotHealth, r measure.Reading) {
	defer m.flush(ctx)
	m.health.Lock()
	defer m.health.Unlock()
	before, after := s.add(r)
	s.plot(r, time.Now())
	s.pending = s.pending[1:]
	m.o.Observer.CanaryDone(r.CPUs, r.Kernel, r.CPUTime, after.deviation())
	if before.State != stats.Shifted && after.State == stats.Shifted && s.trouble() == "" {
		m.o.Log.Warn("times of a reference kernel have left their baseline; the load of a neighbour may have changed",
			"cpus", r.CPUs, "kernel", r.Kernel, "shift", after.Shift, "deviation_ratio", after.Deviation)
	}
	m.saveHealth(s, r.Kernel)
	m.saveChart(s, r.Kernel)
	m.readings = append(m.readings, r)
	m.readings = m.readings[max(0, len(m.readings)-maxReadings):]
	m.decide(s)
}
