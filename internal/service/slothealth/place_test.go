package slothealth

import (
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/host/slots"
	"judged/internal/timing/stats"
)

// TestDeviation: before and after a run a short kernel is held against its
// baseline, once it has one.
func TestDeviation(t *testing.T) {
	f := newFixture(t)
	p, w := f.canary, f.m.ward("0")
	look := func(factor float64) float64 {
		p.set("0", factor)
		return math.Round(100*f.m.deviation(t.Context(), first)) / 100
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

// TestQuietPatience: beside a slot that never comes to rest a run that confirms
// another waits for so long, and then it has its place all the same.
func TestQuietPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		planned := []slots.Slot{{CPUs: cpuset.New(1)}, {CPUs: cpuset.New(2)}}
		pool := slots.NewPool(planned, time.Now)
		m := New(Options{Engine: &fakeEngine{}, Pool: pool, Log: slog.New(slog.DiscardHandler)})
		lease, err := pool.Lease(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Lease(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for i, wish := range []stats.Placement{{Quiet: true}, {OtherCore: true}, {Quiet: true, OtherCore: true}} {
			if _, err := m.Borrow(t.Context(), lease, wish); err != nil {
				t.Error(err)
			}
			if got, want := time.Since(begin), time.Duration(i+1)*quietPatience; got != want {
				t.Errorf("%+v came %v after the beginning, want %v", wish, got, want)
			}
		}
	})
}
