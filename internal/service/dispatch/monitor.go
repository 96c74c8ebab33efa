package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/poll"
	"judged/internal/engine/measure"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// Engine is the host that judges; *engine.Engine implements it.
type Host interface {
	Name() string
	Virtual() bool
	Fit(cpus cpuset.Set) error
	Turbo(cpus cpuset.Set) machine.Turbo
	Thresholds() evidence.Thresholds // the thresholds before anything is learned
	SetThresholds(th evidence.Thresholds)
	SetGuard(g stats.Guard)
}

// Store stores what was learned across restarts.
type MonitorStore interface {
	Value(ctx context.Context, v any, name ...string) (found bool, err error)
	SetValue(ctx context.Context, v any, name ...string) error
}

// Observer receives the readings of canaries for metrics.
type CanaryObserver interface {
	// CanaryDone receives the CPU time of a reading and its deviation from the slot's baseline as a ratio, or nil while
	// there is no baseline.
	CanaryDone(cpus, kernel string, cpuTime time.Duration, deviation *float64)
}

// Canary takes readings of reference kernels.
type Canary interface {
	Digest() string                   // of the program; times of different programs are not comparable
	Kernels(cpus cpuset.Set) []string // kernels that apply to a slot with these CPUs
	Read(ctx context.Context, slot slots.Slot, kernel string) (measure.Reading, error)
}

// Options configure a Monitor.
type MonitorOptions struct {
	Engine   Host
	Pool     *slots.Pool
	Store    MonitorStore
	Doctor   func() api.DoctorReport // the latest report
	Observer CanaryObserver
	Canary   Canary
	Interval time.Duration // between two sets of readings of a slot; 0 turns canaries off
	Log      *slog.Logger
}

// Monitor watches the slots of one host. It is safe for concurrent use.
type Monitor struct {
	o    MonitorOptions
	host string // its name

	// jobs guards the fields that count jobs.
	jobs    sync.Mutex
	running int
	lastJob time.Time // when a job last started or ended

	saving sync.Mutex // held while the store is written, so that values are stored in order

	// health guards the remaining fields, except for the list of slots itself, which Restore creates. The pool is
	// called with health locked, the store is not: the end of each job waits for it.
	health     sync.Mutex
	slots      []*slotHealth
	readings   []measure.Reading   // the latest, of all slots
	thresholds evidence.Thresholds // in effect, if learned
	guard      stats.Guard         // in effect, if learned
	unsaved    []unsaved           // for the next flush
}

// New returns a Monitor. Call Restore before any other method.
func NewMonitor(o MonitorOptions) *Monitor {
	return &Monitor{o: o, host: o.Engine.Name()}
}

// Run watches the host and its slots until ctx is done.
func (m *Monitor) Run(ctx context.Context) {
	for ctx.Err() == nil {
		m.checkHost()
		next := time.Now().Add(hostInterval)
		for _, s := range m.slots { // one after the other: two canaries at once would measure each other
			next = earlier(next, m.visit(ctx, s))
		}
		poll.Sleep(ctx, time.Until(next))
	}
}

// Admit counts a job on a slot until leave is called. It fails if the host is not fit, and then takes the slot out of
// use until the host is fit.
func (m *Monitor) Admit(slot slots.Slot) (leave func(), err error) {
	if err := m.o.Engine.Fit(slot.CPUs); err != nil {
		m.logError(m.o.Pool.Hold(slot.CPUs, slots.Hold{Cause: api.HoldUnfitHost, Reason: err.Error()}))
		return nil, err
	}
	m.jobs.Lock()
	defer m.jobs.Unlock()
	m.running++
	return func() {
		m.jobs.Lock()
		defer m.jobs.Unlock()
		m.running--
		m.lastJob = time.Now()
	}, nil
}

// sinceJob returns how long ago the last job started or ended; 0 while one is running.
func (m *Monitor) sinceJob() time.Duration {
	m.jobs.Lock()
	defer m.jobs.Unlock()
	if m.running > 0 {
		return 0
	}
	return time.Since(m.lastJob)
}

// Observe records the runs of a job, each on its slot.
func (m *Monitor) Observe(r *api.Report) {
	m.health.Lock()
	defer m.health.Unlock()
	for _, t := range r.Tests {
		for _, run := range t.AllRuns() {
			if s := m.slot(run.CPUs); s != nil {
				s.runs.add(disturbedRun(run))
			}
		}
	}
	for _, s := range m.slots {
		m.decide(s)
	}
}

// Snapshot returns all slots as operators see them.
func (m *Monitor) Snapshot() []api.SlotStatus { return m.o.Pool.Snapshot() }

// Drain takes a slot out of use until Undrain, whether or not it is quarantined or judged restarts meanwhile.
func (m *Monitor) Drain(cpus cpuset.Set, reason string) error {
	err := m.o.Pool.Hold(cpus, slots.Hold{Cause: api.HoldOperator, Reason: reason})
	if err == nil {
		m.saveDrain(cpus, drain{Drained: true, Reason: reason})
	}
	return err
}

// Undrain returns a slot to use. A quarantined slot learns its baselines again: an operator who overrules its canaries
// has changed it.
func (m *Monitor) Undrain(cpus cpuset.Set) error {
	defer m.flush(context.Background())
	err := m.lift(cpus)
	if err == nil {
		m.saveDrain(cpus, drain{})
	}
	return err
}

func (m *Monitor) lift(cpus cpuset.Set) error {
	m.health.Lock()
	defer m.health.Unlock()
	if s := m.slot(cpus.String()); s != nil && s.quarantine != "" {
		s.reset()
		for _, kernel := range s.kernels {
			m.saveHealth(s, kernel)
		}
	}
	return m.o.Pool.Lift(cpus)
}

// slot returns the health of the slot with these CPUs, or nil.
func (m *Monitor) slot(cpus string) *slotHealth {
	for _, s := range m.slots {
		if s.slot.CPUs.String() == cpus {
			return s
		}
	}
	return nil
}

// logError logs errors that cannot occur, because every slot belongs to the pool.
func (m *Monitor) logError(err error) {
	if err != nil {
		m.o.Log.Error("cannot change slot", "error", err)
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
