package dispatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/api"
	"judged/internal/engine/measure"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/evidence"
	"judged/internal/timing/stats"
)

// roughly compares ratios of whole nanoseconds.
var roughly = cmpopts.EquateApprox(1e-9, 0)

// TestGuardIsLearned checks that the guard is learned from canaries whose times vary more than is assumed for a pool.
func TestGuardIsLearned(t *testing.T) {
	watch(t, func(f *watched) {
		f.canary.vary = 0.01
		f.settled()
		// The two in the middle of seven readings are 1 % apart: their MAD is 2 %, a sigma 2.97.
		if g := f.engine.guard; !g.Learned || g.Ratio < 0.08 || g.Ratio > 0.1 || g.Floor != 5*time.Millisecond {
			t.Errorf("learned %+v, want about 9 %%", g)
		}
	})
}

// TestThresholdsAreLearned checks that thresholds are learned from canaries with the usual times, once there are
// enough.
func TestThresholdsAreLearned(t *testing.T) {
	watch(t, func(f *watched) {
		f.settled()
		th := f.engine.thresholds
		if th.Wait.Floor != usualDelay {
			t.Errorf("a run may wait for %s, want %s", th.Wait.Floor, usualDelay)
		}
		if diff := cmp.Diff(f.engine.Thresholds().FaultCost, th.FaultCost); diff != "" {
			t.Errorf("thresholds that nothing was said of (-want +got):\n%s", diff)
		}
	})
}

// TestCleanReadings checks that thresholds are learned from readings within the guard band of their baseline,
// regardless of their causes, and from enough of them.
func TestCleanReadings(t *testing.T) {
	for name, tt := range map[string]struct {
		n        int
		cpuTime  time.Duration
		baseline stats.Baseline
		want     bool
	}{
		"as ever": {evidence.LearnFrom, 100 * time.Millisecond,
			stats.Baseline{Center: 100 * time.Millisecond, Sigma: 0.01, Guard: 0.02}, true},
		"too few": {evidence.LearnFrom - 1, 100 * time.Millisecond,
			stats.Baseline{Center: 100 * time.Millisecond, Sigma: 0.01, Guard: 0.02}, false},
		"slower": {evidence.LearnFrom, 110 * time.Millisecond,
			stats.Baseline{Center: 100 * time.Millisecond, Sigma: 0.01, Guard: 0.02}, false},
		"faster": {evidence.LearnFrom, 90 * time.Millisecond,
			stats.Baseline{Center: 100 * time.Millisecond, Sigma: 0.01, Guard: 0.02}, false},
		"no baseline": {evidence.LearnFrom, 100 * time.Millisecond, stats.Baseline{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(f *watched) {
				f.m.slots[0].health[initproc.KernelALU] = kernelHealth{Health: stats.Health{Baseline: tt.baseline}}
				delay := usualDelay
				for range tt.n {
					f.m.readings = append(f.m.readings, measure.Reading{CPUs: "0", Kernel: initproc.KernelALU,
						CPUTime: tt.cpuTime, Run: api.Run{Disturbed: []api.Cause{api.CauseWait}},
						Observation: evidence.Observation{Evidence: api.Evidence{RunDelay: &delay},
							Facts: evidence.Facts{CPUTime: tt.cpuTime, WallTime: 2 * tt.cpuTime, Width: 1}}})
				}
				f.m.learn(f.Context())
				if got := f.engine.thresholds.Wait.Floor == usualDelay; got != tt.want {
					t.Errorf("learned: %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// TestFewReadings checks that what was learned before a restart stays in effect until there are enough new readings.
func TestFewReadings(t *testing.T) {
	watch(t, func(f *watched) {
		f.canary.vary = 0.01
		f.settled()()
		th, guard, readings := f.engine.thresholds, f.engine.guard, f.m.readings
		f.restart()
		f.m.readings = readings[:min(evidence.LearnFrom, stats.GuardFrom)-1]
		f.m.learn(f.Context())
		if diff := cmp.Diff(th, f.engine.thresholds); diff != "" {
			t.Errorf("thresholds (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(guard, f.engine.guard); diff != "" {
			t.Errorf("guard (-before +after):\n%s", diff)
		}
	})
}

// TestLatestReadings checks that old readings are discarded.
func TestLatestReadings(t *testing.T) {
	watch(t, func(f *watched) {
		for i := range 402 {
			f.m.nextSet(f.m.slots[0])
			f.m.record(f.Context(), f.m.slots[0], measure.Reading{CPUs: "0", Kernel: initproc.KernelALU,
				CPUTime: time.Duration(i)})
		}
		if n := len(f.m.readings); n != 400 || f.m.readings[0].CPUTime != 2 {
			t.Errorf("%d readings from the one of %d on", n, f.m.readings[0].CPUTime)
		}
	})
}

// TestNoise checks from which readings a guard is learned. Each case has enough of them, and one reading in ten is 5 %
// longer than the baseline.
func TestNoise(t *testing.T) {
	for name, tt := range map[string]struct {
		kernel    string
		virtual   bool
		state     stats.State
		disturbed []api.Cause
		want      bool
	}{
		"arithmetic":                     {initproc.KernelALU, false, stats.Steady, nil, true},
		"while a chart has signalled":    {initproc.KernelALU, false, stats.Suspect, nil, true},
		"a slot that has moved":          {initproc.KernelALU, false, stats.Shifted, nil, false},
		"disturbed":                      {initproc.KernelALU, false, stats.Steady, []api.Cause{api.CauseWait}, false},
		"memory":                         {initproc.KernelDRAM, false, stats.Steady, nil, true},
		"memory on a virtual machine":    {initproc.KernelDRAM, true, stats.Steady, nil, false},
		"wall time":                      {initproc.KernelPingPong, false, stats.Steady, nil, false},
		"a short one is for single runs": {initproc.KernelALUShort, false, stats.Steady, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(f *watched) {
				s := f.m.slot("0")
				s.virtual = tt.virtual
				s.health[tt.kernel] = kernelHealth{Health: stats.Health{State: tt.state,
					Baseline: stats.Baseline{Center: 100 * time.Millisecond, Sigma: 0.01, Guard: 0.5}}}
				for i := range stats.GuardFrom {
					r := measure.Reading{CPUs: "0", Kernel: tt.kernel, CPUTime: 100 * time.Millisecond,
						Run: api.Run{Disturbed: tt.disturbed}}
					if i%10 == 0 {
						r.CPUTime += 5 * time.Millisecond
					}
					f.m.readings = append(f.m.readings, r)
				}
				f.m.learn(f.Context())
				want := stats.DefaultGuard()
				if tt.want {
					want = stats.Guard{Ratio: 0.05, Floor: 5 * time.Millisecond, Learned: true}
				}
				if diff := cmp.Diff(want, f.engine.guard, roughly); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestNeighbourCosts checks which readings determine the cost of a busy neighbour.
func TestNeighbourCosts(t *testing.T) {
	watch(t, func(f *watched) {
		learned := kernelHealth{Health: stats.Health{Baseline: stats.Baseline{Center: 100 * time.Millisecond}}}
		for _, kernel := range initproc.Kernels() {
			f.m.slot("0").health[kernel] = learned
			for _, busy := range []*float64{nil, new(0.0), new(0.5), new(0.6)} {
				r := measure.Reading{CPUs: "0", Kernel: kernel, CPUTime: 125 * time.Millisecond}
				r.Evidence.NeighboursBusy = busy
				f.m.readings = append(f.m.readings, r)
			}
		}
		f.m.slot("0").health["no baseline"] = kernelHealth{}
		if diff := cmp.Diff([]float64{0.25, 0.25}, f.m.neighbourCosts()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
