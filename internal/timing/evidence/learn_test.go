package evidence

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/api"
	"judged/internal/base/units"
)

// canaries returns n undisturbed runs of 50 ms, each modified by change.
func canaries(n int, change func(i int, o *Observation)) []Observation {
	all := make([]Observation, n)
	for i := range all {
		e, f := quiet()
		e.RunDelay, e.ForeignTime, e.InvoluntarySwitches, e.Interrupts = new(time.Duration(0)), new(time.Duration(0)),
			new(int64(0)), map[string]int64{}
		e.MinorFaults, f.CPUTime, f.WallTime, f.SystemTime = new(int64(0)), 50*ms, 50*ms, 0
		all[i] = Observation{e, f}
		change(i, &all[i])
	}
	return all
}

func TestLearned(t *testing.T) {
	nohz := func(o *Observation) { o.Facts.NohzFull = true }
	for _, tt := range []struct {
		name     string
		canaries []Observation
		want     func(th *Thresholds)
	}{
		{"nothing to learn from", nil, func(th *Thresholds) {}},
		{"quiet ones make nothing stricter", canaries(200, func(i int, o *Observation) {}), func(th *Thresholds) {}},
		{"too few", canaries(99, func(i int, o *Observation) { o.Evidence.ForeignTime = new(20 * ms) }),
			func(th *Thresholds) {}},
		{"nothing known of them", canaries(200, func(i int, o *Observation) { *o = Observation{} }),
			func(th *Thresholds) {}},
		{"one of a hundred is an exception", canaries(100, func(i int, o *Observation) {
			if i == 50 {
				o.Evidence.Interrupts["device"] = 1000
			}
		}), func(th *Thresholds) { th.Device.PerSecond = 3 * 1000 / 5.0 }},
		{"two of a hundred are not", canaries(100, func(i int, o *Observation) {
			if i < 2 {
				o.Evidence.Interrupts["device"] = 1000
			}
		}), func(th *Thresholds) { th.Device = Count{1000, 3 * 2000 / 5.0} }},
		{"a host where strangers run", canaries(100, func(i int, o *Observation) {
			o.Facts.WallTime, o.Evidence.ForeignTime, o.Evidence.RunDelay = 60*ms, new(3*ms), new(2*ms)
			o.Evidence.InvoluntarySwitches = new(int64(30))
		}), func(th *Thresholds) {
			th.Wait = Share{2 * ms, 3 * 2 / 50.0}
			th.Foreign = Share{3 * ms, 3 * 3 / 60.0}
			th.Preempted = Count{30, 3 * 30 / 0.06}
		}},
		{"what the run did to itself is not learned", canaries(100, func(i int, o *Observation) {
			o.Evidence.RunDelay, o.Evidence.InvoluntarySwitches = new(20*ms), new(int64(300))
		}), func(th *Thresholds) {}},
		{"interrupts", canaries(100, func(i int, o *Observation) {
			o.Evidence.Interrupts = map[string]int64{"RES": 20, "CAL": 20, "TLB": 20, "NMI": 5, "softirq_ticks": 3}
		}), func(th *Thresholds) {
			th.IPI = Count{60, 3 * 60 / 0.05}
			th.NMI = Count{5, 3 * 5 / 0.05}
			th.IRQTime = Share{30 * ms, 3 * 30 / 50.0}
		}},
		{"steal", canaries(100, func(i int, o *Observation) {
			if i < 2 {
				o.Evidence.StealTime = new(20 * ms)
			}
		}), func(th *Thresholds) { th.StealTicks = 3 }},
		{"ticks of an ordinary CPU are the kernel's", canaries(100, func(i int, o *Observation) {
			o.Evidence.Interrupts["LOC"] = 100
		}), func(th *Thresholds) {}},
		{"ticks of a nohz_full CPU", canaries(100, func(i int, o *Observation) {
			nohz(o)
			o.Evidence.Interrupts["LOC"], o.Evidence.VoluntarySwitches = 10, new(int64(2))
		}), func(th *Thresholds) { th.NohzTicks = Count{8, 3 * 8 / 0.05} }},
		{"ticks of a nohz_full CPU that two threads share", canaries(100, func(i int, o *Observation) {
			nohz(o)
			o.Evidence.Interrupts["LOC"], o.Evidence.RunDelay = 10, new(20*ms)
		}), func(th *Thresholds) {}},
		{"softirqs, SMIs, swapping, pages", canaries(100, func(i int, o *Observation) {
			o.Evidence.Interrupts = map[string]int64{"softirq_net": 1, "softirq_block": 2}
			o.Evidence.SMIs, o.Evidence.Swapped, o.Evidence.Refaults, o.Evidence.NUMAMigrations = new(int64(4)),
				new(int64(5)), new(int64(6)), new(int64(7))
			o.Evidence.LimitHits = new(int64(0))
			o.Evidence.IRQPressure, o.Evidence.L3Traffic, o.Evidence.L3Remote = new(2*ms), new(units.Bytes(1e8)),
				new(units.Bytes(2e7))
		}), func(th *Thresholds) {
			th.SoftIRQ, th.SMI = Count{3, 3 * 3 / 0.05}, Count{4, 3 * 4 / 0.05}
			th.Swap, th.Refault, th.NUMA = Count{5, 3 * 5 / 0.05}, Count{6, 3 * 6 / 0.05}, Count{7, 3 * 7 / 0.05}
			th.IRQPressure, th.Remote = Share{2 * ms, 3 * 2 / 50.0}, Volume{2e7, 3 * 2 / 10.0}
		}},
		{"pages that its own limit threw out", canaries(100, func(i int, o *Observation) {
			o.Evidence.Refaults, o.Evidence.LimitHits = new(int64(6)), new(int64(1))
		}), func(th *Thresholds) {}},
		{"a plan for the frequency", canaries(101, func(i int, o *Observation) {
			o.Evidence.FrequencyRatio = new(1.25)
			switch {
			case i < 2:
				o.Evidence.FrequencyRatio = new(1.0)
			case i < 4:
				o.Facts.CPUTime, o.Evidence.FrequencyRatio = 9*ms, new(0.5)
			case i == 4:
				o.Evidence.FrequencyRatio = nil
			}
		}), func(th *Thresholds) {}}, // 98 are too few
		{"a plan for the frequency, from enough", canaries(100, func(i int, o *Observation) {
			o.Evidence.FrequencyRatio = new(1.25)
			if i < 2 {
				o.Evidence.FrequencyRatio = new(1.0)
			}
		}), func(th *Thresholds) { th.Frequency.Plan, th.Frequency.Slack = 1.25, 0.25/1.25 }},
		{"slow faults", canaries(200, func(i int, o *Observation) {
			if i%2 == 0 { // half of the canaries cause faults
				o.Evidence.MinorFaults, o.Facts.SystemTime = new(int64(5000)), 20*ms
			}
		}), func(th *Thresholds) { th.FaultCost.Above = 12 * time.Microsecond }},
		{"faults too slow to be faults", canaries(200, func(i int, o *Observation) {
			o.Evidence.MinorFaults, o.Facts.SystemTime = new(int64(5000)), 200*ms
		}), func(th *Thresholds) { th.FaultCost.Above = th.FaultCost.Below }},
		{"few canaries that make faults", canaries(200, func(i int, o *Observation) {
			if i < 99 {
				o.Evidence.MinorFaults, o.Facts.SystemTime = new(int64(5000)), 20*ms
			}
		}), func(th *Thresholds) {}},
		{"few faults", canaries(200, func(i int, o *Observation) {
			o.Evidence.MinorFaults, o.Facts.SystemTime = new(int64(4999)), 20*ms
		}), func(th *Thresholds) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := DefaultThresholds(false)
			tt.want(&want)
			got := DefaultThresholds(false).Learned(tt.canaries)
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLearnedKeepsThePlan checks that a plan that the host knows is not replaced by the frequency of canaries: they
// only show the usual deviation.
func TestLearnedKeepsThePlan(t *testing.T) {
	th := DefaultThresholds(false)
	th.Frequency.Plan = 1
	got := th.Learned(canaries(100, func(i int, o *Observation) { o.Evidence.FrequencyRatio = new(1.25) })).Frequency
	if diff := cmp.Diff(Frequency{Plan: 1, Slack: 0.25, MinCPU: 10 * ms}, got); diff != "" {
		t.Error(diff)
	}
}

// TestLearnedForgivesThem checks that with thresholds learned from canaries, hardly any of them is disturbed, whereas
// with the static thresholds all are.
func TestLearnedForgivesThem(t *testing.T) {
	all := canaries(300, func(i int, o *Observation) {
		o.Facts.WallTime, o.Evidence.ForeignTime, o.Evidence.RunDelay = 60*ms, new(time.Duration(2+i%7)*ms),
			new(time.Duration(2+i%5)*ms)
		o.Evidence.Interrupts = map[string]int64{"CAL": int64(60 + i%11), "device": int64(1 + i%3)}
	})
	static := DefaultThresholds(false)
	learned := static.Learned(all)
	before, after := 0, 0
	for _, o := range all {
		if len(Causes(o.Evidence, o.Facts, static)) > 0 {
			before++
		}
		if len(Causes(o.Evidence, o.Facts, learned)) > 0 {
			after++
		}
	}
	if before != len(all) || after > len(all)/100 {
		t.Errorf("of %d canaries %d are disturbed by the static thresholds, %d by the learned ones", len(all), before,
			after)
	}
	neighbour := canaries(1, func(i int, o *Observation) {
		o.Facts.WallTime, o.Evidence.ForeignTime, o.Evidence.RunDelay = 100*ms, new(50*ms), new(50*ms)
	})[0]
	if diff := cmp.Diff([]api.Cause{api.CauseWait, api.CauseForeign},
		Causes(neighbour.Evidence, neighbour.Facts, learned)); diff != "" {
		t.Errorf("a neighbour that had half of the time (-want +got):\n%s", diff)
	}
}

func TestWithNeighbours(t *testing.T) {
	th := DefaultThresholds(true)
	got := map[string]float64{
		"too few":    th.WithNeighbours(slices.Repeat([]float64{0.1}, 19)).Neighbours.Cost,
		"enough":     th.WithNeighbours(slices.Repeat([]float64{0.1}, 20)).Neighbours.Cost,
		"no effect":  th.WithNeighbours(slices.Repeat([]float64{-0.01}, 20)).Neighbours.Cost,
		"far more":   th.WithNeighbours(slices.Repeat([]float64{3}, 20)).Neighbours.Cost,
		"a few more": th.WithNeighbours(append(slices.Repeat([]float64{0.1}, 99), 0.4)).Neighbours.Cost,
	}
	want := map[string]float64{"too few": 0.35, "enough": 0.1, "no effect": 0.02, "far more": 0.5, "a few more": 0.1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
