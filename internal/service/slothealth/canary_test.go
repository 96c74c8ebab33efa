package slothealth

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
	"judged/internal/host/doctor"
	"judged/internal/host/slots"
	"judged/internal/testkit"
	"judged/internal/timing/evidence"
)

const tenPercent = "canary alu is 10.0 % slower than its baseline"

// TestCanaryQuarantines: a slot that becomes slower is out of use and its jobs
// go elsewhere, also after a restart; when it is itself again it comes back.
func TestCanaryQuarantines(t *testing.T) {
	f := newFixture(t)
	end := f.run()
	f.learned("0")
	f.canary.set("0", 1.1)
	f.becomes(slots.Quarantined, tenPercent)
	for range 3 {
		if got := f.leases(); got != "1" {
			t.Errorf("a job runs on CPU %s, want 1", got)
		}
	}
	if s := f.status("1"); s.State == slots.Quarantined {
		t.Errorf("the other slot is quarantined: %s", s.Reason)
	}

	end()
	f.canary.stop(true)
	f.restart(time.Millisecond)
	f.becomes(slots.Quarantined, tenPercent)
	f.run()
	f.canary.set("0", 1)
	f.canary.stop(false)
	f.becomes(slots.Idle, "")
}

// TestUndrainLearnsAgain: an operator who overrules a quarantine makes what the
// slot is now the baseline.
func TestUndrainLearnsAgain(t *testing.T) {
	f := newFixture(t)
	end := f.run()
	f.learned("0")
	f.canary.set("0", 1.1)
	f.becomes(slots.Quarantined, tenPercent)
	f.canary.stop(true)
	f.must(f.m.Undrain(first.CPUs))
	f.becomes(slots.Idle, "")

	end()
	f.restart(time.Millisecond)
	f.mu.Lock()
	clear(f.deviations)
	f.mu.Unlock()
	f.canary.stop(false)
	f.run()
	f.learned("0")
	if d := *f.deviation("0"); d != 0 {
		t.Errorf("deviation %g from the new baseline, want none", d)
	}
	if s := f.status("0"); s.State == slots.Quarantined {
		t.Errorf("quarantined again: %s", s.Reason)
	}
}

// TestDrainOutlastsQuarantine: what an operator takes out of use stays out.
func TestDrainOutlastsQuarantine(t *testing.T) {
	f := newFixture(t)
	f.run()
	f.learned("0")
	f.canary.set("0", 1.1)
	f.becomes(slots.Quarantined, tenPercent)
	f.must(f.m.Drain(first.CPUs, "new fan"))
	f.becomes(slots.Quarantined, tenPercent)
	f.canary.set("0", 1)
	f.becomes(slots.Drained, "new fan")
}

// An operator's drain is there after a quarantine that came later, by what the job that
// still ran there told.
func TestDrainBeforeQuarantine(t *testing.T) {
	f := newFixture(t)
	observe := func(runs int, r job.Run) slots.Status {
		f.m.Observe(report(runs, r))
		return f.status("0")
	}
	// In the words of a drain that a fit host undoes: only the cause counts.
	const reason = "refuse to judge before the new fan is here"
	f.must(f.m.Drain(first.CPUs, reason))
	got := []slots.Status{f.status("0"), observe(12, explainedBy("0", job.CauseForeign)), observe(20, job.Run{CPUs: "0"})}
	for i := range got {
		if got[i].State == slots.Quarantined {
			got[i].Reason = ""
		}
	}
	drained := slots.Status{CPUs: "0", Node: first.Node, State: slots.Drained, Cause: slots.Operator, Reason: reason}
	want := []slots.Status{drained, {CPUs: "0", Node: first.Node, State: slots.Quarantined, Cause: slots.Quarantine}, drained}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestJobCutsReadingShort: a job that comes while a reference kernel runs has
// the slot at once; nothing is learned from the kernel, and it is read later.
func TestJobCutsReadingShort(t *testing.T) {
	f := newFixture(t)
	f.canary.begun = make(chan struct{})
	f.restart(time.Hour)
	f.must(f.m.Drain(second.CPUs, "one slot is enough"))
	end := f.run()
	<-f.canary.begun
	// The kernel would last for ever.
	if got := f.leases(); got != "0" {
		t.Fatalf("leased CPU %s, want 0", got)
	}
	<-f.canary.begun // again
	end()
	w := f.m.wards[0]
	type state struct {
		Todo   []string
		Streak int
		Health map[string]memory
		Runs   int
	}
	want := state{Todo: f.canary.Kernels(first.CPUs), Health: map[string]memory{}}
	for _, k := range want.Todo {
		want.Health[k] = memory{}
	}
	if diff := cmp.Diff(want, state{w.todo, w.streak, w.health, len(w.runs.disturbed)}); diff != "" {
		t.Errorf("what is known of the slot (-want +got):\n%s", diff)
	}
	if f.deviations != nil || len(f.m.observed) > 0 {
		t.Errorf("readings that were cut short are told: %v", f.deviations)
	}
}

// TestDisturbedTooOften: a slot whose runs are disturbed goes out of use, the
// last one does not.
func TestDisturbedTooOften(t *testing.T) {
	f := newFixture(t)
	for range 2 {
		f.m.Observe(report(12, explainedBy("0", job.CauseForeign)))
		f.m.Observe(report(12, explainedBy("1", job.CauseForeign)))
	}
	f.becomes(slots.Quarantined, "12 of its last 12 runs were disturbed")
	if s := f.status("1"); s.State != slots.Idle {
		t.Errorf("the last slot is %s: %s", s.State, s.Reason)
	}
	f.must(f.m.Undrain(first.CPUs))
	f.becomes(slots.Idle, "")
}

// TestContestantsDoNotQuarantine: whatever a program does to its own runs, and whatever
// works on other CPUs, the slot stays in use.
func TestContestantsDoNotQuarantine(t *testing.T) {
	f := newFixture(t)
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
	f.m.Observe(report)
	if s := f.status("0"); s.State != slots.Idle {
		t.Errorf("the slot is %s: %s", s.State, s.Reason)
	}
	report.Tests[0].Runs = []job.Run{explainedBy("0", job.CauseSteal)}
	for range tooMany + 1 {
		f.m.Observe(report)
	}
	f.becomes(slots.Quarantined, "11 of its last 50 runs were disturbed")
}

// TestThresholdsAreLearned: from canaries that took what they take here, once
// there are enough; what was learned is there after a restart, and runs are
// judged by it.
func TestThresholdsAreLearned(t *testing.T) {
	f := newFixture(t)
	end := f.run()
	testkit.WaitFor(t, patience, "thresholds", func() bool { th, _ := f.engine.inForce(); return th != evidence.Thresholds{} })
	f.canary.stop(true)
	end()
	th, _ := f.engine.inForce()
	if th.Wait.Floor != usualDelay {
		t.Errorf("a run may wait for %s, want %s", th.Wait.Floor, usualDelay)
	}
	if diff := cmp.Diff(f.engine.Thresholds().FaultCost, th.FaultCost); diff != "" {
		t.Errorf("thresholds that nothing was said of (-want +got):\n%s", diff)
	}
	f.engine.SetThresholds(evidence.Thresholds{})
	f.restart(time.Millisecond)
	again, _ := f.engine.inForce()
	if diff := cmp.Diff(th, again); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
}

// TestWhereCanariesAreRead: on slots that are in use or quarantined, of a host
// that is fit.
func TestWhereCanariesAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(f *fixture) error
		want   bool
	}{
		"idle":        {func(*fixture) error { return nil }, true},
		"quarantined": {func(f *fixture) error { return f.pool.Hold(first.CPUs, slots.Hold{Cause: slots.Quarantine}) }, true},
		"drained":     {func(f *fixture) error { return f.pool.Hold(first.CPUs, slots.Hold{Cause: slots.Operator}) }, false},
		"draining": {func(f *fixture) error {
			_, err := f.pool.Lease(f.t.Context())
			return errors.Join(err, f.pool.Hold(first.CPUs, slots.Hold{Cause: slots.Operator}))
		}, false},
		"not fit": {func(f *fixture) error { f.engine.unfit["0"] = true; return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.must(tt.change(f))
			f.m.visit(t.Context(), f.m.wards[0])
			if got := len(f.deviations) > 0; got != tt.want {
				t.Errorf("it was read: %v, want %v", got, tt.want)
			}
		})
	}
}

// TestDrift: a slot is read at once when the settings of the host have changed,
// and not because they are looked at.
func TestDrift(t *testing.T) {
	f := newFixture(t)
	w, later := f.m.wards[0], time.Now().Add(time.Hour)
	look := func(r doctor.Report) bool {
		f.doctor, w.due = r, later
		f.m.lookForDrift()
		return w.due.Before(later)
	}
	failed := doctor.Report{Checks: []doctor.Check{{ID: "turbo-off", Status: doctor.Fail}}}
	got := []bool{look(doctor.Report{}), look(doctor.Report{}), look(failed), look(failed), look(doctor.Report{})}
	if diff := cmp.Diff([]bool{false, false, true, false, true}, got); diff != "" {
		t.Errorf("well, well, failed, failed, well (-want +got):\n%s", diff)
	}
}
