package slothealth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/base/job"
	"judged/internal/engine/measure"
	"judged/internal/host/doctor"
	"judged/internal/host/slots"
	"judged/internal/host/turbo"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
	"judged/internal/timing/canary"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

const patience = time.Minute

// fakeEngine is a host without slots that run anything.
type fakeEngine struct {
	mu         sync.Mutex
	unfit      map[string]bool // by CPUs
	turbo      turbo.Value
	thresholds evidence.Thresholds // set last
	guard      stats.Guard         // set last
}

func (e *fakeEngine) Name() string                      { return "host" }
func (e *fakeEngine) Virtual() bool                     { return false }
func (e *fakeEngine) Worker(slots.Slot) *measure.Worker { return nil }
func (e *fakeEngine) Thresholds() evidence.Thresholds   { return evidence.DefaultThresholds(false) }
func (e *fakeEngine) Turbo(cpus cpuset.Set) turbo.State { return turbo.State{Value: e.turbo} }
func (e *fakeEngine) SetThresholds(t evidence.Thresholds) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.thresholds = t
}

func (e *fakeEngine) SetGuard(g stats.Guard) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.guard = g
}

func (e *fakeEngine) inForce() (evidence.Thresholds, stats.Guard) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.thresholds, e.guard
}

func (e *fakeEngine) Fit(cpus cpuset.Set) error {
	if e.unfit[cpus.String()] {
		return errors.New("refuse to judge: turbo is on")
	}
	return nil
}

// memoryStore is a Store that forgets nothing until the test ends.
type memoryStore struct {
	mu     sync.Mutex
	values map[string][]byte
	fails  error
}

func (s *memoryStore) Value(_ context.Context, v any, name ...string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.values[strings.Join(name, "/")]
	if s.fails != nil || !ok {
		return false, s.fails
	}
	return true, json.Unmarshal(text, v)
}

func (s *memoryStore) SetValue(_ context.Context, v any, name ...string) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[strings.Join(name, "/")] = text
	return s.fails
}

// fakeCanary is a canary whose times the test sets.
type fakeCanary struct {
	mu      sync.Mutex
	factors map[string]float64 // by CPUs: how long all but syscall takes; 1 where nothing is set
	vary    float64            // readings are up to three times this longer or shorter, in turns
	reads   int
	stopped bool          // nothing is read
	begun   chan struct{} // if not nil a reading reports here that it has begun, and lasts until it is cut short
}

func (p *fakeCanary) Digest() string { return "fake" }

func (p *fakeCanary) Kernels(cpuset.Set) []string {
	return []string{initproc.KernelALU, initproc.KernelSyscall, initproc.KernelL3Short}
}

func (p *fakeCanary) Read(ctx context.Context, slot slots.Slot, kernel string) (canary.Reading, error) {
	if p.begun != nil {
		p.begun <- struct{}{}
		<-ctx.Done()
		return canary.Reading{}, context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return canary.Reading{}, context.DeadlineExceeded // as if the slot were busy
	}
	t := 50 * time.Millisecond
	if f, ok := p.factors[slot.CPUs.String()]; ok && kernel != initproc.KernelSyscall {
		t = time.Duration(f * float64(t))
	}
	p.reads++
	t = time.Duration((1 + p.vary*float64(p.reads%7-3)) * float64(t))
	delay := usualDelay
	return canary.Reading{CPUs: slot.CPUs.String(), Kernel: kernel, CPUTime: t, Observation: evidence.Observation{
		Evidence: job.Evidence{RunDelay: &delay}, Facts: evidence.Facts{CPUTime: t, WallTime: 2 * t, Width: 1}}}, nil
}

// usualDelay is how long every canary waits for its CPU: longer than a run may
// on a host that nothing is known of.
const usualDelay = 20 * time.Millisecond

func (p *fakeCanary) set(cpus string, factor float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.factors[cpus] = factor
}

func (p *fakeCanary) stop(stopped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = stopped
}

// The slots of every fixture.
var (
	first  = slots.Slot{CPUs: cpuset.New(0), Node: 1}
	second = slots.Slot{CPUs: cpuset.New(1), Node: 1}
)

// fixture is a Monitor of two slots over a real pool.
type fixture struct {
	t      *testing.T
	m      *Monitor
	engine *fakeEngine
	store  *memoryStore
	canary *fakeCanary
	pool   *slots.Pool
	doctor doctor.Report

	mu         sync.Mutex          // guards deviations
	deviations map[string]*float64 // by CPUs and kernel: of the last readings
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, engine: &fakeEngine{unfit: map[string]bool{}}, store: &memoryStore{values: map[string][]byte{}},
		canary: &fakeCanary{factors: map[string]float64{}}}
	f.restart(time.Millisecond)
	return f
}

// restart makes another Monitor, as after a restart.
func (f *fixture) restart(interval time.Duration) {
	f.t.Helper()
	f.pool = slots.NewPool([]slots.Slot{first, second}, time.Now)
	f.m = New(Options{Engine: f.engine, Pool: f.pool, Store: f.store, Doctor: func() doctor.Report { return f.doctor },
		Observer: f, Canary: f.canary, Interval: interval, Log: slog.New(slog.DiscardHandler)})
	f.must(f.m.Restore(f.t.Context()))
}

// run watches until the test ends, or until the returned function is called.
func (f *fixture) run() (end func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { f.m.Run(ctx) })
	end = func() { cancel(); wg.Wait() }
	f.t.Cleanup(end)
	return end
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) CanaryDone(cpus, kernel string, _ time.Duration, deviation *float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deviations == nil {
		f.deviations = map[string]*float64{}
	}
	f.deviations[cpus+" "+kernel] = deviation
}

// deviation is that of the arithmetic kernel's last reading.
func (f *fixture) deviation(cpus string) *float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deviations[cpus+" "+initproc.KernelALU]
}

func (f *fixture) learned(cpus string) {
	f.t.Helper()
	testkit.WaitFor(f.t, patience, "a baseline", func() bool { return f.deviation(cpus) != nil })
}

func (f *fixture) status(cpus string) slots.Status {
	for _, s := range f.m.Snapshot() {
		if s.CPUs == cpus {
			s.Since = time.Time{}
			return s
		}
	}
	return slots.Status{}
}

// becomes waits until the first slot is in a state, and wants its reason.
func (f *fixture) becomes(state, reason string) {
	f.t.Helper()
	testkit.WaitFor(f.t, patience, "the slot to be "+state, func() bool { return f.status("0").State == state })
	cause := map[string]slots.Cause{slots.Quarantined: slots.Quarantine, slots.Drained: slots.Operator}[state]
	if diff := cmp.Diff(slots.Status{CPUs: "0", Node: first.Node, State: state, Cause: cause, Reason: reason}, f.status("0")); diff != "" {
		f.t.Errorf("(-want +got):\n%s", diff)
	}
}

// report is a job with n times the same run.
func report(n int, r job.Run) *job.Report {
	runs := make([]job.Run, n)
	for i := range runs {
		runs[i] = r
	}
	return &job.Report{Tests: []job.TestReport{{Runs: runs}}}
}

// explainedBy is a run that one cause has lengthened.
func explainedBy(cpus string, c job.Cause) job.Run {
	r := job.Run{CPUs: cpus, Disturbed: []job.Cause{c}}
	r.Explained.Add(c, time.Millisecond, time.Millisecond)
	return r
}

// leases returns the CPUs of the next slot that a job gets.
func (f *fixture) leases() string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	lease, err := f.pool.Lease(ctx)
	f.must(err)
	defer lease.Release()
	return fmt.Sprint(lease.Slot().CPUs)
}
