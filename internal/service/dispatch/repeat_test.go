package dispatch

import (
	"testing"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/slots"
	"judged/internal/testkit"
)

// TestRepeatsAreQuiet checks that the run that confirms a time limit has no neighbour, and that afterwards the previous
// state is restored.
func TestRepeatsAreQuiet(t *testing.T) {
	f := newFixture(t)
	f.blob = sample(t, "sum/TLE-spin.c")
	slot := f.eng.Slots()[0]
	other := slots.Slot{CPUs: cpuset.New(0), Node: slot.Node}
	f.dispatcher(Options{}, slot, other)
	f.must(f.pool.Hold(slot.CPUs, slots.Hold{Cause: api.HoldOperator}))
	neighbour, err := f.pool.Lease(t.Context()) // the other one
	f.must(err)
	f.must(f.pool.Lift(slot.CPUs))
	f.submit("x", "p")
	work, err := f.store.Take(t.Context(), api.Want{})
	f.must(err)
	work.Job.Limits.CPUTimeMS, work.Job.Repeats = 20, api.Repeats{Policy: api.Confirm, Min: 2, Max: 5}
	lease, err := f.pool.Lease(t.Context())
	f.must(err)

	reports := make(chan api.Report, 1)
	go func() {
		a := f.d.newAttempt(t.Context(), work)
		defer a.release()
		a.slot = lease
		report, err := a.judge()
		if err != nil {
			t.Error(err)
		}
		reports <- report
	}()
	// The first run is over its limit, and the second one waits for a quiet place.
	testkit.WaitFor(t, patience, "the job to be resting", func() bool { return f.pool.Waiting() == 1 })
	neighbour.Release()
	report := <-reports
	if r := report.Tests[0]; r.Verdict != api.TimeLimit || len(r.Runs) < 2 {
		t.Errorf("verdict %s after %d runs, want TLE after two and more", r.Verdict, len(r.Runs))
	}
	lease.Release()
	for _, s := range f.pool.Snapshot() {
		if s.State != slots.Idle {
			t.Errorf("slot %s is left %s", s.CPUs, s.State)
		}
	}
}
