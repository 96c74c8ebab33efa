package dispatch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// TestRestore checks that what was learned survives a restart.
func TestRestore(t *testing.T) {
	watch(t, func(f *watched) {
		f.canary.vary = 0.01
		f.settled()()
		h := f.m.slots[0].health[initproc.KernelL3Short]
		h.State, h.Shift, h.Deviation = stats.Shifted, stats.Slower, 0.5
		f.m.slots[0].health[initproc.KernelL3Short] = h
		f.m.saveHealth(f.m.slots[0], initproc.KernelL3Short)
		f.m.flush(f.Context())
		before, th, guard := f.m, f.engine.thresholds, f.engine.guard
		if th == (evidence.Thresholds{}) || !guard.Learned {
			t.Fatalf("learned %+v, %+v", th, guard)
		}
		f.engine.thresholds, f.engine.guard = evidence.Thresholds{}, stats.Guard{}
		f.restart()
		for i, s := range f.m.slots {
			if diff := cmp.Diff(before.slots[i].health, s.health); diff != "" {
				t.Errorf("slot %s (-before +after):\n%s", s.slot.CPUs, diff)
			}
		}
		if diff := cmp.Diff(th, f.engine.thresholds); diff != "" {
			t.Errorf("thresholds (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(guard, f.engine.guard); diff != "" {
			t.Errorf("guard (-before +after):\n%s", diff)
		}
		// Values in effect are not set or saved again.
		f.engine.thresholds, f.engine.guard = evidence.Thresholds{}, stats.Guard{}
		f.m.readings = before.readings
		f.m.learn(f.Context())
		if f.engine.thresholds != (evidence.Thresholds{}) || f.engine.guard != (stats.Guard{}) {
			t.Errorf("set again: %+v, %+v", f.engine.thresholds, f.engine.guard)
		}
	})
}

// TestDrainSurvivesRestarts checks that a slot that an operator has drained stays out of use until it is undrained, also
// without canaries.
func TestDrainSurvivesRestarts(t *testing.T) {
	for name, every := range map[string]time.Duration{"with canaries": interval, "without canaries": 0} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(f *watched) {
				restart := func() {
					f.Helper()
					o := f.options()
					o.Interval, o.Pool = every, slots.NewPool([]slots.Slot{first, second}, time.Now)
					f.pool, f.m = o.Pool, NewMonitor(o)
					f.must(f.m.Restore(f.Context()))
				}
				check := func(when, want string) {
					f.Helper()
					var got []string
					for _, s := range f.m.Snapshot() {
						got = append(got, strings.TrimSpace(fmt.Sprint(s.CPUs, " ", s.State, " ", s.Cause, " ", s.Reason)))
					}
					if diff := cmp.Diff(want, strings.Join(got, "; ")); diff != "" {
						f.Errorf("%s (-want +got):\n%s", when, diff)
					}
				}
				restart()
				f.must(f.m.Drain(first.CPUs, "new fan"))
				f.must(f.m.Drain(second.CPUs, ""))
				f.must(f.m.Undrain(second.CPUs))
				if err := f.m.Drain(cpuset.New(9), "x"); !errors.Is(err, slots.ErrUnknownSlot) {
					f.Errorf("drain an unknown slot: %v", err)
				}
				for range 2 {
					restart()
					check("drained", "0 drained operator new fan; 1 idle")
				}
				f.must(f.m.Undrain(first.CPUs))
				restart()
				check("undrained", "0 idle; 1 idle")
			})
		})
	}
}

// TestKeys checks the names under which learned values are stored. A different name loses what every installation has
// learned.
func TestKeys(t *testing.T) {
	watch(t, func(f *watched) {
		f.canary.vary = 0.01
		f.settled()()
		want := []string{"canary/host/fake/0/alu", "canary/host/fake/0/l3-short", "canary/host/fake/0/syscall",
			"canary/host/fake/1/alu",
			"canary/host/fake/1/l3-short", "canary/host/fake/1/syscall", "chart/host/fake/0/alu",
			"chart/host/fake/0/l3-short", "chart/host/fake/0/syscall", "chart/host/fake/1/alu",
			"chart/host/fake/1/l3-short", "chart/host/fake/1/syscall", "guard/host/fake", "thresholds/host/fake"}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(f.store.values))); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// TestThresholdsOfBefore checks that thresholds that an older version did not store stay unchanged.
func TestThresholdsOfBefore(t *testing.T) {
	watch(t, func(f *watched) {
		f.store.values["thresholds/host/fake"] = `{}`
		f.restart()
		if diff := cmp.Diff(f.engine.Thresholds(), f.engine.thresholds); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// TestStoreFails checks that a Monitor that cannot load does not start, since a quarantined slot might be used, and
// that one that cannot save continues.
func TestStoreFails(t *testing.T) {
	for _, key := range []string{"canary/", "chart/", "thresholds/", "guard/"} {
		t.Run(key, func(t *testing.T) {
			watch(t, func(f *watched) {
				f.store.fails = func(name string) error {
					if strings.HasPrefix(name, key) {
						return errors.New("disk full")
					}
					return nil
				}
				f.m = NewMonitor(f.options())
				if err := f.m.Restore(f.Context()); err == nil || !strings.HasSuffix(err.Error(), ": disk full") {
					t.Errorf("loaded: %v", err)
				}
				f.store.fails = nil
				f.restart()
				f.store.fails = func(string) error { return errors.New("disk full") }
				f.canary.vary = 0.01
				f.settled()
				for _, what := range []string{"health of slot 0", "thresholds of evidence", "guard band"} {
					warning := fmt.Sprintf(
						`msg="cannot save %s; it is learned again after a restart" error="disk full"`, what)
					if !strings.Contains(f.log.String(), warning) {
						t.Errorf("the log lacks %s", warning)
					}
				}
			})
		})
	}
}

// TestNoJobWaitsForTheStore checks that a job can end while a write to the store hangs.
func TestNoJobWaitsForTheStore(t *testing.T) {
	watch(t, func(f *watched) {
		f.settled()()
		written := make(chan string, 1)
		release := make(chan struct{})
		f.store.fails = func(name string) error {
			select {
			case written <- name:
			default:
			}
			<-release
			return nil
		}
		s := f.m.slots[0]
		f.m.health.Lock()
		s.quarantine = "for the test"
		f.m.health.Unlock()
		undrained := make(chan error, 1)
		go func() { undrained <- f.m.Undrain(s.slot.CPUs) }()
		<-written
		if f.m.health.TryLock() {
			f.m.health.Unlock()
			f.m.Observe(&api.Report{})
		} else {
			t.Error("the end of a job would wait for the store")
		}
		close(release)
		if err := <-undrained; err != nil {
			t.Error(err)
		}
	})
}
