package slothealth

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/base/job"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
	"judged/internal/timing/canary"
	"judged/internal/timing/stats"
)

// roughly compares ratios of whole nanoseconds.
var roughly = cmpopts.EquateApprox(1e-9, 0)

// TestGuardIsLearned: of canaries whose times vary more than is believed of a
// pool; what was learned is in force after a restart too.
func TestGuardIsLearned(t *testing.T) {
	f := newFixture(t)
	f.canary.vary = 0.01
	end := f.run()
	testkit.WaitFor(t, patience, "a guard", func() bool { _, g := f.engine.inForce(); return g.Learned })
	end()
	// Two in the middle of seven, 1 % apart: their MAD is 2 %, a sigma 2.97.
	_, want := f.engine.inForce()
	if want.Ratio < 0.08 || want.Ratio > 0.1 || want.Floor != 5*time.Millisecond {
		t.Errorf("learned %+v, want about 9 %%", want)
	}
	f.engine.SetGuard(stats.DefaultGuard())
	f.restart(time.Millisecond)
	_, got := f.engine.inForce()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
}

// TestNoise: by which readings a guard is learned. Each case has enough of
// them, and all are 5 % longer than the baseline says for one in ten.
func TestNoise(t *testing.T) {
	for name, tt := range map[string]struct {
		kernel    string
		virtual   bool
		state     stats.State
		disturbed []job.Cause
		want      bool
	}{
		"arithmetic":                     {initproc.KernelALU, false, stats.Steady, nil, true},
		"while a chart has signalled":    {initproc.KernelALU, false, stats.Suspect, nil, true},
		"a slot that has moved":          {initproc.KernelALU, false, stats.Shifted, nil, false},
		"disturbed":                      {initproc.KernelALU, false, stats.Steady, []job.Cause{job.CauseWait}, false},
		"memory":                         {initproc.KernelDRAM, false, stats.Steady, nil, true},
		"memory on a virtual machine":    {initproc.KernelDRAM, true, stats.Steady, nil, false},
		"wall time":                      {initproc.KernelPingPong, false, stats.Steady, nil, false},
		"a short one is for single runs": {initproc.KernelALUShort, false, stats.Steady, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			w := f.m.ward("0")
			w.virtual = tt.virtual
			w.health[tt.kernel] = memory{Health: stats.Health{State: tt.state, Baseline: stats.Baseline{Center: 100 * time.Millisecond, Sigma: 0.01, Guard: 0.5}}}
			for i := range stats.GuardFrom {
				r := canary.Reading{CPUs: "0", Kernel: tt.kernel, CPUTime: 100 * time.Millisecond, Run: job.Run{Disturbed: tt.disturbed}}
				if i%10 == 0 {
					r.CPUTime += 5 * time.Millisecond
				}
				f.m.observed = append(f.m.observed, r)
			}
			f.m.relearnGuard(t.Context())
			want := stats.Guard{}
			if tt.want {
				want = stats.Guard{Ratio: 0.05, Floor: 5 * time.Millisecond, Learned: true}
			}
			if diff := cmp.Diff(want, f.m.guard, roughly); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestBesideNeighbours: which readings say what a busy neighbour costs.
func TestBesideNeighbours(t *testing.T) {
	f := newFixture(t)
	for _, kernel := range initproc.Kernels() {
		f.m.ward("0").health[kernel] = memory{Health: stats.Health{Baseline: stats.Baseline{Center: 100 * time.Millisecond}}}
		for _, busy := range []*float64{nil, new(0.0), new(0.5), new(0.6)} {
			r := canary.Reading{CPUs: "0", Kernel: kernel, CPUTime: 125 * time.Millisecond}
			r.Evidence.NeighboursBusy = busy
			f.m.observed = append(f.m.observed, r)
		}
	}
	f.m.ward("0").health["no baseline"] = memory{}
	if diff := cmp.Diff([]float64{0.25, 0.25}, f.m.besideNeighbours()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
