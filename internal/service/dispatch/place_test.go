package dispatch

import (
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/base/job"
	"judged/internal/engine"
	"judged/internal/host/slots"
	"judged/internal/store"
	"judged/internal/testkit"
	"judged/internal/timing/stats"
)

// TestDeviation: before and after a run a short kernel is held against its
// baseline, once it has one.
func TestDeviation(t *testing.T) {
	f, p, _ := watched(t)
	f.must(f.d.recall(t.Context()))
	w := f.d.ward("0")
	look := func(factor float64) float64 {
		p.set("0", factor)
		return math.Round(100*f.d.deviation(t.Context(), made)) / 100
	}
	got := []float64{look(1.1)}
	w.read(stats.DefaultChart().Learn, "", 0)
	got = append(got, look(1.1), look(1), look(0.9))
	p.stop(true)
	got = append(got, look(1.1))
	if diff := cmp.Diff([]float64{0, 0.1, 0, -0.1, 0}, got); diff != "" {
		t.Errorf("without a baseline, slower, as ever, faster, unreadable (-want +got):\n%s", diff)
	}
}

// TestRepeatsAreQuiet: the run that confirms a time limit has no neighbour, and
// afterwards everything is as it was.
func TestRepeatsAreQuiet(t *testing.T) {
	f := newFixture(t, false)
	f.blob = sample(t, "sum/TLE-spin.c")
	slot := f.eng.Slots()[0]
	beside := slots.Slot{CPUs: cpuset.New(0), Node: slot.Node}
	f.dispatcher(Options{}, slot, beside)
	f.must(f.pool.Hold(slot.CPUs, slots.Hold{Cause: slots.Operator}))
	neighbour, err := f.pool.Lease(t.Context()) // the other one
	f.must(err)
	f.must(f.pool.Lift(slot.CPUs))
	f.record("x", "p")
	rec, err := f.store.Get(t.Context(), "x")
	f.must(err)
	rec.Job.Limits.CPUTimeMS, rec.Job.Repeats = 20, job.Repeats{Policy: job.Confirm, Min: 2, Max: 5}
	lease, err := f.pool.Lease(t.Context())
	f.must(err)

	reports := make(chan job.Report, 1)
	go func() {
		report, err := f.d.run(t.Context(), lease, rec, func() (store.Record, error) { return rec, nil })
		if err != nil {
			t.Error(err)
		}
		reports <- report
	}()
	// The first run is over its limit, and the second waits for quiet.
	testkit.WaitFor(t, patience, "the job to be resting", func() bool { return f.pool.Waiting() == 1 })
	neighbour.Release()
	report := <-reports
	if r := report.Tests[0]; r.Verdict != job.TimeLimit || len(r.Runs) < 2 {
		t.Errorf("verdict %s after %d runs, want TLE after two and more", r.Verdict, len(r.Runs))
	}
	lease.Release()
	for _, s := range f.pool.Snapshot() {
		if s.State != slots.Idle {
			t.Errorf("slot %s is left %s", s.CPUs, s.State)
		}
	}
}

// TestQuietPatience: beside a slot that never comes to rest a run that confirms
// another waits for so long, and then it has its place all the same.
func TestQuietPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		planned := []slots.Slot{{CPUs: cpuset.New(1)}, {CPUs: cpuset.New(2)}}
		pool := slots.NewPool(planned, time.Now)
		d := New(Options{Engine: &engine.Engine{}, Pool: pool, Log: slog.New(slog.DiscardHandler)})
		lease, err := pool.Lease(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Lease(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for i, wish := range []stats.Placement{{Quiet: true}, {OtherCore: true}, {Quiet: true, OtherCore: true}} {
			if _, err := d.placesBeside(lease)(t.Context(), wish); err != nil {
				t.Error(err)
			}
			if got, want := time.Since(begin), time.Duration(i+1)*quietPatience; got != want {
				t.Errorf("%+v came %v after the beginning, want %v", wish, got, want)
			}
		}
	})
}
