package slothealth

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/job"
	"judged/internal/engine/measure"
	"judged/internal/host/doctor"
	"judged/internal/host/slots"
	"judged/internal/host/turbo"
	"judged/internal/timing/canary"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// Engine is the host that is judged on; *engine.Engine is one.
type Engine interface {
	Name() string
	Virtual() bool
	Fit(cpus cpuset.Set) error
	Turbo(cpus cpuset.Set) turbo.State
	Worker(s slots.Slot) *measure.Worker
	Thresholds() evidence.Thresholds // before anything was learned
	SetThresholds(th evidence.Thresholds)
	SetGuard(g stats.Guard)
}

// Store keeps what was learned across restarts.
type Store interface {
	Value(ctx context.Context, v any, name ...string) (found bool, err error)
	SetValue(ctx context.Context, v any, name ...string) error
}

// Observer receives the readings of canaries, for metrics.
type Observer interface {
	// CanaryDone receives the CPU time of a reading and its deviation from the
	// slot's baseline as a ratio, nil while there is no baseline.
	CanaryDone(cpus, kernel string, cpuTime time.Duration, deviation *float64)
}

// Canary takes readings of reference kernels.
type Canary interface {
	Digest() string                   // of the program; times of two programs do not compare
	Kernels(cpus cpuset.Set) []string // those that apply to a slot of these CPUs
	Read(ctx context.Context, slot slots.Slot, kernel string) (canary.Reading, error)
}

// Options are what a Monitor needs.
type Options struct {
	Engine   Engine
	Pool     *slots.Pool
	Store    Store
	Doctor   func() doctor.Report // the latest report
	Observer Observer
	Canary   Canary
	Interval time.Duration // between two readings of a slot; 0 turns canaries off
	Log      *slog.Logger
}

// Monitor watches the slots of one host. It is safe for concurrent use.
type Monitor struct {
	o    Options
	host string // name

	mu      sync.Mutex // guards running and lastJob
	running int        // jobs
	lastJob time.Time  // when one last started or ended

	care       sync.Mutex // guards the rest, but for the list of wards itself; the store and the pool are called with it locked
	wards      []*ward
	observed   []canary.Reading
	thresholds evidence.Thresholds // learned last
	guard      stats.Guard         // learned last
}

// New makes a Monitor. Restore comes before any other call, and Run watches.
func New(o Options) *Monitor {
	return &Monitor{o: o, host: o.Engine.Name()}
}

// Admit counts a job on a slot until leave is called. It fails when no job may
// run there because the host is not fit, and takes the slot out of use.
func (m *Monitor) Admit(slot slots.Slot) (leave func(), err error) {
	if err := m.o.Engine.Fit(slot.CPUs); err != nil {
		m.logError(m.o.Pool.Hold(slot.CPUs, slots.Hold{Cause: slots.UnfitHost, Reason: err.Error()}))
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.running--
		m.lastJob = time.Now()
	}, nil
}

// sinceJob is how long no job has started, run or ended.
func (m *Monitor) sinceJob() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running > 0 {
		return 0
	}
	return time.Since(m.lastJob)
}

// Observe learns from the runs of a job, each on the slot where it was.
func (m *Monitor) Observe(r *job.Report) {
	m.care.Lock()
	defer m.care.Unlock()
	for _, t := range r.Tests {
		for _, run := range t.Runs {
			if w := m.ward(run.CPUs); w != nil {
				w.runs.add(external(run))
			}
		}
	}
	for _, w := range m.wards {
		m.settle(w)
	}
}

// Snapshot lists all slots as operators see them.
func (m *Monitor) Snapshot() []slots.Status { return m.o.Pool.Snapshot() }

// Drain takes a slot out of use until Undrain, also beyond a quarantine.
func (m *Monitor) Drain(cpus cpuset.Set, reason string) error {
	return m.o.Pool.Hold(cpus, slots.Hold{Cause: slots.Operator, Reason: reason})
}

// Undrain puts a slot back to use. A quarantined slot forgets everything it has
// learned: an operator who overrules its canaries has changed it.
func (m *Monitor) Undrain(cpus cpuset.Set) error {
	m.care.Lock()
	defer m.care.Unlock()
	if w := m.ward(cpus.String()); w != nil && w.held != "" {
		w.forget()
		for _, kernel := range w.kernels {
			m.keep(context.Background(), w, kernel)
		}
	}
	return m.o.Pool.Lift(cpus)
}
