package dispatch

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"judged/internal/api"

	"github.com/google/go-cmp/cmp"

	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/stats"
)

// settled runs the Monitor until every baseline is learned.
func (f *watched) settled() (end func()) {
	f.Helper()
	end = f.watch()
	for _, s := range f.m.slots {
		if s.health[initproc.KernelALU].State != stats.Steady {
			f.Fatalf("slot %s is %+v", s.slot.CPUs, s.health)
		}
	}
	f.canary.read = nil
	return end
}

// TestReadingsAreSpaced checks that baselines are learned immediately, and that then each slot is read once per
// interval.
func TestReadingsAreSpaced(t *testing.T) {
	watch(t, func(f *watched) {
		f.settled()
		f.pass(interval - time.Second)
		if len(f.canary.read) > 0 {
			t.Errorf("read %v too early", f.canary.read)
		}
		f.pass(time.Second)
		want := []string{"0 alu", "0 syscall", "0 l3-short", "1 alu", "1 syscall", "1 l3-short"}
		if diff := cmp.Diff(want, f.canary.read); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
}

// TestCanariesGiveWay checks that canaries wait while jobs start and end, but no longer than another interval.
func TestCanariesGiveWay(t *testing.T) {
	for name, tt := range map[string]struct {
		jobs time.Duration // time for which a job runs, starting at the end of the interval
		want time.Duration // time after the end of the interval
	}{
		"a short job": {3500 * time.Millisecond, 5 * time.Second}, // checked each second, and quiet for one
		"a long job":  {3 * interval, interval},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(f *watched) {
				f.settled()
				f.pass(interval - time.Millisecond)
				leave, err := f.m.Admit(second) // its lease does not matter
				f.must(err)
				go func() { time.Sleep(tt.jobs); leave() }()
				f.pass(tt.want - time.Second)
				if len(f.canary.read) > 0 {
					t.Errorf("read %v too early", f.canary.read)
				}
				f.pass(time.Second + 2*time.Millisecond)
				if len(f.canary.read) != 6 {
					t.Errorf("read %v in %v, want all", f.canary.read, tt.want)
				}
				f.pass(tt.jobs)
			})
		})
	}
}

// TestSeveralJobs checks that canaries wait until the last job has left.
func TestSeveralJobs(t *testing.T) {
	watch(t, func(f *watched) {
		var leave [2]func()
		for i := range leave {
			var err error
			leave[i], err = f.m.Admit(first)
			f.must(err)
		}
		var got []time.Duration
		note := func() { time.Sleep(time.Minute); got = append(got, f.m.sinceJob()) }
		note()
		leave[0]()
		note()
		leave[1]()
		note()
		if diff := cmp.Diff([]time.Duration{0, 0, time.Minute}, got); diff != "" {
			t.Errorf("with two jobs, one, none (-want +got):\n%s", diff)
		}
	})
}

// TestJobInterrupts checks that a job that arrives while a reference kernel runs gets the slot immediately, that the
// interrupted reading is discarded, and that the set is resumed with that kernel later.
func TestJobInterrupts(t *testing.T) {
	watch(t, func(f *watched) {
		f.settled()
		f.must(f.m.Drain(second.CPUs, "one slot is enough"))
		f.canary.lasts = 10 * time.Second
		f.pass(interval + 15*time.Second) // in the middle of the second kernel
		before := f.m.slots[0].health[initproc.KernelSyscall]
		begin := time.Now()
		l := f.lease()
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("the job waited %v", waited)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"0 alu", "0 syscall"}, f.canary.read); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, f.m.slots[0].health[initproc.KernelSyscall]); diff != "" {
			t.Errorf("learned from half a reading (-before +after):\n%s", diff)
		}
		f.pass(time.Minute) // the slot is busy
		l.Release()
		f.pass(time.Minute)
		if diff := cmp.Diff([]string{"0 alu", "0 syscall", "0 syscall", "0 l3-short"}, f.canary.read); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
}

// TestUnreadable checks that canaries are read only on slots that are in use or quarantined, of a fit host.
func TestUnreadable(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(f *watched)
		want   bool
	}{
		"idle": {func(*watched) {}, true},
		"quarantined": {func(f *watched) { f.must(f.pool.Hold(first.CPUs, slots.Hold{Cause: api.HoldQuarantine})) },
			true},
		"drained":     {func(f *watched) { f.must(f.m.Drain(first.CPUs, "")) }, false},
		"another one": {func(f *watched) { f.must(f.m.Drain(second.CPUs, "")) }, true},
		"draining": {func(f *watched) {
			l := f.lease()
			f.must(f.m.Drain(l.Slot().CPUs, ""))
		}, false},
		"busy":    {func(f *watched) { f.lease() }, false},
		"not fit": {func(f *watched) { f.engine.unfit["0"] = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(f *watched) {
				tt.change(f)
				begin := time.Now()
				next := f.m.visit(f.Context(), f.m.slots[0])
				if got := len(f.canary.read) > 0; got != tt.want {
					t.Errorf("it was read: %v, want %v", got, tt.want)
				}
				if name == "busy" && time.Since(begin) != 100*time.Millisecond {
					t.Errorf("it waited %v for the slot", time.Since(begin))
				}
				if !tt.want && next.Sub(begin) < retryInterval {
					t.Errorf("it is tried again after %v", next.Sub(begin))
				}
			})
		})
	}
}

// TestReadingFails checks that a failed reading is logged and repeated after an interval, even if a baseline must be
// learned.
func TestReadingFails(t *testing.T) {
	watch(t, func(f *watched) {
		f.must(f.m.Drain(second.CPUs, "one slot is enough"))
		f.canary.fails = map[string]error{initproc.KernelALU: errors.New("no memory")}
		f.watch()
		f.pass(interval - time.Second)
		if diff := cmp.Diff([]string{"0 alu"}, f.canary.read); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		f.logged(`level=WARN msg="cannot read canary; it is read again after canary.interval" cpus=0 error="no memory"`)
		f.canary.fails = nil
		f.pass(time.Second)
		if h := f.m.slots[0].health[initproc.KernelALU]; h.State != stats.Steady {
			t.Errorf("health %+v, want a baseline", h)
		}
	})
}

// TestOneKernelFails checks that a failing kernel does not prevent others from being read.
func TestOneKernelFails(t *testing.T) {
	watch(t, func(f *watched) {
		f.settled()
		f.must(f.m.Drain(second.CPUs, "one slot is enough"))
		f.canary.fails = map[string]error{initproc.KernelSyscall: errors.New("no memory")}
		f.pass(2*interval + hostInterval)
		if diff := cmp.Diff([]string{"0 alu", "0 syscall", "0 alu", "0 syscall"}, f.canary.read); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
}

// TestEndsWhileRead checks that the end of the Monitor interrupts a reading, which is not logged as a failure.
func TestEndsWhileRead(t *testing.T) {
	watch(t, func(f *watched) {
		end := f.settled()
		f.canary.lasts = time.Hour
		f.pass(interval + time.Minute)
		begin := time.Now()
		end()
		if d := time.Since(begin); d > 0 {
			t.Errorf("it took %v", d)
		}
		f.logged("")
	})
}

// TestResetWhileRead checks that an undrain in the middle of a set starts a new one.
func TestResetWhileRead(t *testing.T) {
	watch(t, func(f *watched) {
		f.settled()
		f.quarantined()
		f.canary.lasts = 10 * time.Second
		f.pass(interval / quarantinePace) // in the middle of the first kernel
		f.must(f.m.Undrain(first.CPUs))
		f.canary.lasts = 0
		f.pass(time.Minute)
		if h := f.m.slots[0].health[initproc.KernelALU]; h.State != stats.Steady ||
			h.Baseline.Center != 55*time.Millisecond {
			t.Errorf("health %+v, want a baseline of what it is now", h)
		}
		f.is(first, slots.Idle, "", "")
	})
}

// TestShiftWithoutConsequence checks that a canary that leaves its baseline on a slot that stays in use is logged once.
func TestShiftWithoutConsequence(t *testing.T) {
	watch(t, func(f *watched) {
		f.engine.virtual = true
		f.restart()
		s := f.m.slots[0]
		s.kernels = []string{initproc.KernelL3}
		f.must(f.m.Drain(second.CPUs, "one slot is enough"))
		f.watch()
		f.canary.factors["0"] = 1.25
		f.pass(3 * interval)
		f.logged(
			`level=WARN msg="times of a reference kernel have left their baseline; the load of a neighbour may have ` +
				`changed" cpus=0 kernel=l3 shift=slower deviation_ratio=0.25`)
		f.is(first, slots.Idle, "", "")
	})
}

// TestObserverSeesReadings checks that the observer receives readings, with a deviation once there is a baseline.
func TestObserverSeesReadings(t *testing.T) {
	watch(t, func(f *watched) {
		s := f.m.slots[0]
		f.canary.factors["0"] = 1.1
		for i, want := range []bool{false, true} {
			f.m.nextSet(s)
			r, err := f.m.read(f.Context(), s, initproc.KernelALU)
			f.must(err)
			f.m.record(f.Context(), s, r)
			if d := f.deviations["0 alu"]; (d != nil) != want {
				t.Errorf("reading %d: deviation %v", i, d)
			}
			newHealth(s, stats.DefaultChart().Learn, "", 0)
		}
	})
}
