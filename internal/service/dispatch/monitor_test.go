package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/poll"
	"judged/internal/engine/measure"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// interval is the interval of canaries in all tests that use them.
const interval = 10 * time.Minute

// fakeEngine is a host that executes nothing.
type fakeEngine struct {
	passes     *atomic.Int64
	unfit      map[string]bool // CPUs -> unfit
	turbo      machine.TurboState
	virtual    bool
	thresholds evidence.Thresholds // last value set
	guard      stats.Guard         // last value set
}

func (e *fakeEngine) Name() string                         { return "host" }
func (e *fakeEngine) Virtual() bool                        { return e.virtual }
func (e *fakeEngine) Thresholds() evidence.Thresholds      { return evidence.DefaultThresholds(false) }
func (e *fakeEngine) Turbo(cpuset.Set) machine.Turbo       { return machine.Turbo{Value: e.turbo} }
func (e *fakeEngine) SetThresholds(th evidence.Thresholds) { e.thresholds = th }
func (e *fakeEngine) SetGuard(g stats.Guard)               { e.guard = g }

const unfitReason = "refuse to judge: turbo is on"

func (e *fakeEngine) Fit(cpus cpuset.Set) error {
	e.passes.Load()
	if e.unfit[cpus.String()] {
		return errors.New(unfitReason)
	}
	return nil
}

// fakeStore keeps values as JSON, and fails on request.
type fakeStore struct {
	values map[string]string
	fails  func(name string) error
}

func (s *fakeStore) Value(_ context.Context, v any, name ...string) (bool, error) {
	key := strings.Join(name, "/")
	if s.fails != nil {
		return false, s.fails(key)
	}
	text, ok := s.values[key]
	if !ok {
		return false, nil
	}
	return true, json.Unmarshal([]byte(text), v)
}

func (s *fakeStore) SetValue(_ context.Context, v any, name ...string) error {
	key := strings.Join(name, "/")
	if s.fails != nil {
		return s.fails(key)
	}
	text, err := json.Marshal(v)
	s.values[key] = string(text)
	return err
}

// fakeCanary takes readings that last no time by default.
type fakeCanary struct {
	passes  *atomic.Int64
	factors map[string]float64 // CPUs -> factor of the times of all kernels but syscall; 1 if not set
	vary    float64            // readings vary by up to three times this, alternately longer and shorter
	lasts   time.Duration      // duration of a reading, unless it is interrupted
	fails   map[string]error   // kernel -> error
	read    []string           // "cpus kernel" of each reading that has started
}

func (c *fakeCanary) Digest() string { return "fake" }

func (c *fakeCanary) Kernels(cpuset.Set) []string {
	return []string{initproc.KernelALU, initproc.KernelSyscall, initproc.KernelL3Short}
}

// usualDelay is how long every canary waits for its CPU: longer than a run may wait on a host about which nothing is
// known.
const usualDelay = 20 * time.Millisecond

func (c *fakeCanary) Read(ctx context.Context, slot slots.Slot, kernel string) (measure.Reading, error) {
	c.passes.Load()
	c.read = append(c.read, slot.CPUs.String()+" "+kernel)
	if c.lasts > 0 {
		poll.Sleep(ctx, c.lasts)
	}
	if ctx.Err() != nil {
		return measure.Reading{}, context.Cause(ctx)
	}
	if err := c.fails[kernel]; err != nil {
		return measure.Reading{}, err
	}
	t := 50 * time.Millisecond
	if f, ok := c.factors[slot.CPUs.String()]; ok && kernel != initproc.KernelSyscall {
		t = time.Duration(f * float64(t))
	}
	t = time.Duration((1 + c.vary*float64(len(c.read)%7-3)) * float64(t))
	delay := usualDelay
	return measure.Reading{CPUs: slot.CPUs.String(), Kernel: kernel, CPUTime: t, Observation: evidence.Observation{
		Evidence: api.Evidence{RunDelay: &delay}, Facts: evidence.Facts{CPUTime: t, WallTime: 2 * t, Width: 1}}}, nil
}

// watched is a Monitor with a real pool and fakes for the rest, in a synctest bubble: time passes only while all
// goroutines are blocked.
type watched struct {
	*testing.T
	passes atomic.Int64 // orders writes of a test before reads of the Monitor, for the race detector
	m      *Monitor
	engine *fakeEngine
	store  *fakeStore
	canary *fakeCanary
	pool   *slots.Pool
	doctor api.DoctorReport
	log    bytes.Buffer

	deviations map[string]*float64 // by CPUs and kernel: deviation of the last reading
}

// test runs f in a bubble.
func watch(t *testing.T, f func(f *watched)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		x := &watched{T: t}
		x.engine = &fakeEngine{passes: &x.passes, unfit: map[string]bool{}}
		x.store = &fakeStore{values: map[string]string{}}
		x.canary = &fakeCanary{passes: &x.passes, factors: map[string]float64{}}
		x.restart()
		f(x)
	})
}

// restart creates another Monitor and another pool, as after a restart.
func (f *watched) restart() {
	f.Helper()
	f.pool = slots.NewPool([]slots.Slot{first, second}, time.Now)
	f.m = NewMonitor(f.options())
	f.must(f.m.Restore(f.Context()))
}

func (f *watched) options() MonitorOptions {
	f.deviations = map[string]*float64{}
	text := slog.NewTextHandler(&f.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return MonitorOptions{Engine: f.engine, Pool: f.pool, Store: f.store, Doctor: f.report,
		Observer: f, Canary: f.canary, Interval: interval, Log: slog.New(text)}
}

// watch runs the Monitor until the test ends, or until end is called.
func (f *watched) watch() (end func()) {
	ctx, cancel := context.WithCancel(f.Context())
	var wg sync.WaitGroup
	wg.Go(func() { f.m.Run(ctx) })
	end = func() { cancel(); wg.Wait() }
	f.Cleanup(end)
	synctest.Wait()
	return end
}

// pass lets time pass.
func (f *watched) pass(d time.Duration) {
	f.passes.Add(1)
	time.Sleep(d)
	synctest.Wait()
}

func (f *watched) report() api.DoctorReport {
	f.passes.Load()
	return f.doctor
}

func (f *watched) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *watched) CanaryDone(cpus, kernel string, _ time.Duration, deviation *float64) {
	f.deviations[cpus+" "+kernel] = deviation
}

// lease leases a slot like a job.
func (f *watched) lease() *slots.Lease {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	lease, err := f.pool.Lease(ctx)
	f.must(err)
	return lease
}

func (f *watched) status(s slots.Slot) api.SlotStatus {
	for _, status := range f.m.Snapshot() {
		if status.CPUs == s.CPUs.String() {
			status.Since = time.Time{}
			return status
		}
	}
	return api.SlotStatus{}
}

// is checks the state of a slot.
func (f *watched) is(s slots.Slot, state string, cause api.HoldCause, reason string) {
	f.Helper()
	want := api.SlotStatus{CPUs: s.CPUs.String(), Node: s.Node, State: state, Cause: cause, Reason: reason}
	if diff := cmp.Diff(want, f.status(s)); diff != "" {
		f.Errorf("slot %s (-want +got):\n%s", s.CPUs, diff)
	}
}

// logged checks the log lines since its last call.
func (f *watched) logged(want ...string) {
	f.Helper()
	got := strings.Split(strings.TrimSpace(f.log.String()), "\n")
	f.log.Reset()
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
		f.Errorf("log (-want +got):\n%s", diff)
	}
}

// report returns the report of a job with n copies of a run.
func report(n int, r api.Run) *api.Report {
	var t api.TestReport
	for range n {
		t.Runs = append(t.Runs, r)
	}
	return &api.Report{Tests: []api.TestReport{t}}
}

// explainedBy returns a run that one cause has lengthened.
func explainedBy(cpus string, c api.Cause) api.Run {
	r := api.Run{CPUs: cpus, Disturbed: []api.Cause{c}}
	r.Explained.Add(c, time.Millisecond, time.Millisecond)
	return r
}
