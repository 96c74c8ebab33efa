package dispatch

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/base/job"
	"judged/internal/engine/canary"
	"judged/internal/host/doctor"
	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
	"judged/internal/timing/evidence"
)

// played is a canary whose times are made up.
type played struct {
	mu      sync.Mutex
	factors map[string]float64 // by CPUs: how long all but syscall takes; 1 where nothing is said
	vary    float64            // readings are up to three times this longer or shorter, in turns
	reads   int
	stopped bool          // nothing is read
	begun   chan struct{} // if not nil a reading says here that it has begun, and lasts until it is cut short
}

func (p *played) Digest() string { return "played" }

func (p *played) Kernels(cpuset.Set) []string {
	return []string{initproc.KernelALU, initproc.KernelSyscall, initproc.KernelL3Short}
}

func (p *played) Read(ctx context.Context, slot slots.Slot, kernel string) (canary.Reading, error) {
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

func (p *played) set(cpus string, factor float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.factors[cpus] = factor
}

func (p *played) stop(stopped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = stopped
}

// made is a slot that only canaries see: it has no worker.
var made = slots.Slot{CPUs: cpuset.New(0), Node: 99}

// watched is a fixture with the engine's slot, with made and with a canary.
func watched(t *testing.T) (*fixture, *played, func()) {
	f, p := newFixture(t, false), &played{factors: map[string]float64{}}
	again := func() {
		f.dispatcher(Options{Canary: p, CanaryInterval: time.Millisecond}, append([]slots.Slot{made}, f.eng.Slots()...)...)
	}
	again()
	return f, p, again
}

func (f *fixture) learned(cpus string) {
	f.t.Helper()
	testkit.WaitFor(f.t, patience, "a baseline", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.deviations[cpus+" "+initproc.KernelALU] != nil
	})
}

func (f *fixture) status(cpus string) slots.Status {
	for _, s := range f.d.Snapshot() {
		if s.CPUs == cpus {
			s.Since = time.Time{}
			return s
		}
	}
	return slots.Status{}
}

// becomes waits until made is in a state, and wants its reason.
func (f *fixture) becomes(state, reason string) {
	f.t.Helper()
	testkit.WaitFor(f.t, patience, "the slot to be "+state, func() bool { return f.status("0").State == state })
	cause := map[string]slots.Cause{slots.Quarantined: slots.Quarantine, slots.Drained: slots.Operator}[state]
	if diff := cmp.Diff(slots.Status{CPUs: "0", Node: 99, State: state, Cause: cause, Reason: reason}, f.status("0")); diff != "" {
		f.t.Errorf("(-want +got):\n%s", diff)
	}
}

const tenPercent = "canary alu is 10.0 % slower than its baseline"

// TestCanaryQuarantines: a slot that becomes slower is out of use and its jobs
// go elsewhere, also after a restart; when it is itself again it comes back.
func TestCanaryQuarantines(t *testing.T) {
	f, p, again := watched(t)
	f.blob = sample(t, "measure/tiny.c")
	end := f.run()
	f.learned("0")
	p.set("0", 1.1)
	f.becomes(slots.Quarantined, tenPercent)

	elsewhere := f.eng.Slots()[0].CPUs.String()
	for _, id := range []string{"a", "b", "c"} {
		f.submit(id, "p")
		if got := f.finish(id).Tests[0].Runs[0].CPUs; got != elsewhere {
			t.Errorf("job %s ran on CPU %s, want %s", id, got, elsewhere)
		}
	}
	if s := f.status(elsewhere); s.State == slots.Quarantined {
		t.Errorf("the other slot is quarantined: %s", s.Reason)
	}

	end()
	p.stop(true)
	again()
	f.run()
	f.becomes(slots.Quarantined, tenPercent)
	p.set("0", 1)
	p.stop(false)
	f.becomes(slots.Idle, "")
}

// TestUndrainLearnsAnew: who overrules a quarantine makes what the slot is now
// the baseline.
func TestUndrainLearnsAnew(t *testing.T) {
	f, p, again := watched(t)
	end := f.run()
	f.learned("0")
	p.set("0", 1.1)
	f.becomes(slots.Quarantined, tenPercent)
	p.stop(true)
	f.must(f.d.Undrain(made.CPUs))
	f.becomes(slots.Idle, "")

	end()
	again()
	f.mu.Lock()
	clear(f.deviations)
	f.mu.Unlock()
	p.stop(false)
	f.run()
	f.learned("0")
	f.mu.Lock()
	d := *f.deviations["0 "+initproc.KernelALU]
	f.mu.Unlock()
	if d != 0 {
		t.Errorf("deviation %g from the new baseline, want none", d)
	}
	if s := f.status("0"); s.State == slots.Quarantined {
		t.Errorf("quarantined again: %s", s.Reason)
	}
}

// TestDrainOutlastsQuarantine: what an operator takes out of use stays out.
func TestDrainOutlastsQuarantine(t *testing.T) {
	f, p, _ := watched(t)
	f.run()
	f.learned("0")
	p.set("0", 1.1)
	f.becomes(slots.Quarantined, tenPercent)
	f.must(f.d.Drain(made.CPUs, "new fan"))
	f.becomes(slots.Quarantined, tenPercent)
	p.set("0", 1)
	f.becomes(slots.Drained, "new fan")
}

// TestJobCutsReadingShort: a job that comes while a reference kernel runs has
// the slot at once; nothing is learned from the kernel, and it is read later.
func TestJobCutsReadingShort(t *testing.T) {
	f := newFixture(t, false)
	f.blob = sample(t, "measure/tiny.c")
	p := &played{factors: map[string]float64{}, begun: make(chan struct{})}
	slot := f.eng.Slots()[0]
	f.dispatcher(Options{Canary: p, CanaryInterval: time.Hour}, slot)
	end := f.run()
	<-p.begun
	f.submit("a", "p")
	// The kernel would last for ever.
	if r := f.finish("a"); r.Verdict != job.Accepted {
		t.Errorf("verdict %s, want AC", r.Verdict)
	}
	<-p.begun // again
	end()
	w := f.d.wards[0]
	got := struct {
		Todo   []string
		Streak int
		Health map[string]memory
	}{w.todo, w.streak, w.health}
	want := got
	want.Todo, want.Streak, want.Health = p.Kernels(slot.CPUs), 0, map[string]memory{}
	for _, k := range want.Todo {
		want.Health[k] = memory{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is known of the slot (-want +got):\n%s", diff)
	}
	if n := len(w.runs.disturbed); n != 1 {
		t.Errorf("%d runs count for the quarantine, want that of the job alone", n)
	}
	if f.deviations != nil || len(f.d.observed) > 0 {
		t.Errorf("readings that were cut short are told: %v", f.deviations)
	}
}

// TestDisturbedTooOften: a slot whose runs are disturbed goes out of use, the
// last one does not.
func TestDisturbedTooOften(t *testing.T) {
	f, p, _ := watched(t)
	p.stop(true)
	f.must(f.d.recall(t.Context()))
	report := func(cpus string) *job.Report {
		runs := make([]job.Run, 12)
		for i := range runs {
			runs[i] = explainedBy(cpus, job.CauseForeign)
		}
		return &job.Report{Tests: []job.TestReport{{Runs: runs}}}
	}
	other := f.eng.Slots()[0].CPUs.String()
	for range 2 {
		f.d.count(report("0"))
		f.d.count(report(other))
	}
	f.becomes(slots.Quarantined, "12 of its last 12 runs were disturbed")
	if s := f.status(other); s.State != slots.Idle {
		t.Errorf("the last slot is %s: %s", s.State, s.Reason)
	}
	f.must(f.d.Undrain(made.CPUs))
	f.becomes(slots.Idle, "")
}

// explainedBy is a run that one cause has lengthened.
func explainedBy(cpus string, c job.Cause) job.Run {
	r := job.Run{CPUs: cpus, Disturbed: []job.Cause{c}}
	r.Explained.Add(c, time.Millisecond, time.Millisecond)
	return r
}

// TestContestantsDoNotQuarantine: whatever a program does to its own runs, and whatever
// works on other CPUs, the slot stays in use.
func TestContestantsDoNotQuarantine(t *testing.T) {
	f, p, _ := watched(t)
	p.stop(true)
	f.must(f.d.recall(t.Context()))
	report := &job.Report{Tests: make([]job.TestReport, 1)}
	for _, e := range job.Catalogue() {
		for range historyRuns {
			r := job.Run{CPUs: "0", Disturbed: []job.Cause{e.Cause}}
			if e.Cause == job.CauseNeighbours || e.Cause == job.CauseCanary {
				r = explainedBy("0", e.Cause)
			}
			report.Tests[0].Runs = append(report.Tests[0].Runs, r)
		}
	}
	f.d.count(report)
	if s := f.status("0"); s.State != slots.Idle {
		t.Errorf("the slot is %s: %s", s.State, s.Reason)
	}
	report.Tests[0].Runs = []job.Run{explainedBy("0", job.CauseSteal)}
	for range tooMany + 1 {
		f.d.count(report)
	}
	f.becomes(slots.Quarantined, "11 of its last 50 runs were disturbed")
}

// TestThresholdsAreLearned: from canaries that took what they take here, once
// there are enough; what was learned is there after a restart, and runs are
// judged by it.
func TestThresholdsAreLearned(t *testing.T) {
	f, p, again := watched(t)
	f.blob = sample(t, "measure/tiny.c")
	learned := func() evidence.Thresholds {
		f.d.care.Lock()
		defer f.d.care.Unlock()
		return f.d.thresholds
	}
	end := f.run()
	testkit.WaitFor(t, patience, "thresholds", func() bool { return learned() != evidence.Thresholds{} })
	p.stop(true)
	end()
	th := learned()
	if th.Wait.Floor != usualDelay {
		t.Errorf("a run may wait for %s, want %s", th.Wait.Floor, usualDelay)
	}
	if diff := cmp.Diff(f.eng.Thresholds().FaultCost, th.FaultCost); diff != "" {
		t.Errorf("thresholds that nothing was said of (-want +got):\n%s", diff)
	}

	// Of those that call every run disturbed another one shows.
	th.StealTicks = 0
	f.must(f.store.SetValue(t.Context(), th, f.d.thresholdsName()...))
	again()
	f.run()
	f.must(f.d.Drain(made.CPUs, "no job can run there"))
	f.submit("a", "p")
	if got := f.finish("a").Tests[0].Runs[0].Disturbed; !slices.Contains(got, job.CauseSteal) {
		t.Errorf("disturbed by %v, want steal by the thresholds that were kept", got)
	}
}

// TestWhereCanariesAreRead: on slots that are in use or quarantined, of a host
// that is fit.
func TestWhereCanariesAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		strict bool
		change func(f *fixture) error
		want   bool
	}{
		"idle":        {false, func(*fixture) error { return nil }, true},
		"quarantined": {false, func(f *fixture) error { return f.pool.Hold(made.CPUs, slots.Hold{Cause: slots.Quarantine}) }, true},
		"drained":     {false, func(f *fixture) error { return f.pool.Hold(made.CPUs, slots.Hold{Cause: slots.Operator}) }, false},
		"not fit":     {true, func(*fixture) error { return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tt.strict)
			f.dispatcher(Options{Canary: &played{}, CanaryInterval: time.Hour}, made)
			f.must(f.d.recall(t.Context()))
			f.must(tt.change(f))
			f.d.visit(t.Context(), f.d.wards[0])
			f.mu.Lock()
			defer f.mu.Unlock()
			if got := len(f.deviations) > 0; got != tt.want {
				t.Errorf("it was read: %v, want %v", got, tt.want)
			}
		})
	}
}

// TestDrift: a slot is read at once when the settings of the host have changed,
// and not because they are looked at.
func TestDrift(t *testing.T) {
	f := newFixture(t, false)
	f.dispatcher(Options{Canary: &played{}, CanaryInterval: time.Hour}, made)
	f.must(f.d.recall(t.Context()))
	w, later := f.d.wards[0], time.Now().Add(time.Hour)
	var now doctor.Report
	f.d.o.Doctor = func() doctor.Report { return now }
	look := func(r doctor.Report) bool {
		now, w.due = r, later
		f.d.lookForDrift()
		return w.due.Before(later)
	}
	failed := doctor.Report{Checks: []doctor.Check{{ID: "turbo-off", Status: doctor.Fail}}}
	got := []bool{look(doctor.Report{}), look(doctor.Report{}), look(failed), look(failed), look(doctor.Report{})}
	if diff := cmp.Diff([]bool{false, false, true, false, true}, got); diff != "" {
		t.Errorf("well, well, failed, failed, well (-want +got):\n%s", diff)
	}
}
