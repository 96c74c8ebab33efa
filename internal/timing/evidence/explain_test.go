package evidence

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

func TestExplain(t *testing.T) {
	explained := func(all ...api.Explanation) api.Explained {
		var x api.Explained
		for _, e := range all {
			x.Add(e.Cause, e.CPUTime, e.WallTime)
		}
		return x
	}
	planned := DefaultThresholds(false)
	planned.Frequency.Plan = 1
	for _, tt := range []struct {
		name   string
		change func(e *api.Evidence, f *Facts)
		want   api.Explained
	}{
		{"quiet", func(e *api.Evidence, f *Facts) {}, api.Explained{}},
		{"nothing known", func(e *api.Evidence, f *Facts) { *e = api.Evidence{} }, api.Explained{}},
		{"another program had the CPU", func(e *api.Evidence, f *Facts) {
			e.Waited, e.ForeignTime, e.ForeignUserTime, f.WallTime = new(350*ms), new(352*ms), new(340*ms), 1350*ms
		}, explained(api.Explanation{Cause: api.CauseForeign, CPUTime: 34 * ms, WallTime: 374 * ms})},
		{"a sleeper did not wait for it", func(e *api.Evidence, f *Facts) {
			e.Waited, e.ForeignTime, e.ForeignUserTime = new(2*ms), new(352*ms), new(340*ms)
		}, explained(api.Explanation{Cause: api.CauseForeign, CPUTime: 34 * ms, WallTime: 36 * ms})},
		{"its threads waited for each other", func(e *api.Evidence, f *Facts) {
			e.Waited, e.RunDelay, e.Pressure = new(time.Duration(0)), new(900*ms), new(900*ms)
			e.ForeignTime, e.ForeignUserTime = new(352*ms), new(340*ms)
		}, explained(api.Explanation{Cause: api.CauseForeign, CPUTime: 34 * ms, WallTime: 34 * ms})},
		{"others had the CPU nearly all the time", func(e *api.Evidence, f *Facts) {
			e.Waited, e.ForeignTime, e.ForeignUserTime, f.CPUTime, f.WallTime = new(9800*ms), new(9900*ms),
				new(9900*ms), 100*ms, 10_000*ms
		}, explained(api.Explanation{Cause: api.CauseForeign, CPUTime: 10 * ms, WallTime: 9810 * ms})},
		{"kernel work on its behalf had the CPU", func(e *api.Evidence, f *Facts) {
			e.Waited, e.ForeignTime, e.ForeignUserTime, f.WallTime = new(350*ms), new(352*ms), new(time.Duration(0)),
				1350*ms
		}, api.Explained{}},
		{"kernel work, and a little of another program", func(e *api.Evidence, f *Facts) {
			e.Waited, e.ForeignTime, e.ForeignUserTime = new(350*ms), new(352*ms), new(ms)
		}, api.Explained{}},
		{"another program had the CPU for work of the kernel", func(e *api.Evidence, f *Facts) {
			e.Waited, e.ForeignTime, e.ForeignUserTime, e.ForeignSystemTime = new(350*ms), new(352*ms), new(100*ms),
				new(240*ms)
			f.WallTime = 1350 * ms
		}, explained(api.Explanation{Cause: api.CauseForeign, CPUTime: 34 * ms, WallTime: 374 * ms})},
		{"user time is unknown", func(e *api.Evidence, f *Facts) {
			e.Waited, e.ForeignTime, f.WallTime = new(350*ms), new(352*ms), 1350*ms
		}, api.Explained{}},
		{"what a program does to itself", func(e *api.Evidence, f *Facts) {
			e.RunDelay, e.VoluntarySwitches, e.InvoluntarySwitches = new(900*ms), new(int64(9e6)), new(int64(9e6))
			e.Migrations, e.MajorFaults, e.Throttled, e.MinorFaults = new(int64(9)), new(int64(9)), new(int64(9)),
				new(int64(9e6))
			e.Interrupts = map[string]int64{"LOC": 9e6, "RES": 9e6, "CAL": 9e6, "TLB": 9e6, "device": 900,
				"softirq_ticks": 90, "irq_ticks": 90, "softirq_net": 9e6}
			e.Refaults, e.LimitHits, e.Swapped, e.NUMAMigrations = new(int64(9e6)), new(int64(0)), new(int64(9e6)),
				new(int64(9e6))
			f.SystemTime = 900 * ms
		}, api.Explained{}},
		{"the hypervisor's time is apart", func(e *api.Evidence, f *Facts) {
			e.ForeignTime, e.StealTime, f.CPUTime = new(time.Duration(0)), new(100*ms), 900*ms
		}, explained(api.Explanation{Cause: api.CauseSteal, CPUTime: 10 * ms, WallTime: 120 * ms})},
		{"the hypervisor's time is counted as the run's", func(e *api.Evidence, f *Facts) {
			e.ForeignTime, e.StealTime, f.CPUTime = new(time.Duration(0)), new(100*ms), 1000*ms
		}, explained(api.Explanation{Cause: api.CauseSteal, CPUTime: 110 * ms, WallTime: 120 * ms})},
		{"the hypervisor's time, of a run that slept", func(e *api.Evidence, f *Facts) {
			e.ForeignTime, e.StealTime, f.CPUTime = new(time.Duration(0)), new(200*ms), 100*ms
		}, explained(api.Explanation{Cause: api.CauseSteal, CPUTime: 10 * ms, WallTime: 220 * ms})},
		{"quotas of a container and of its parent", func(e *api.Evidence, f *Facts) {
			e.ThrottledTime, f.WallTime = new(3000*ms), 1900*ms
		}, explained(api.Explanation{Cause: api.CauseThrottle, WallTime: 1900 * ms})},
		{"a quota of a container", func(e *api.Evidence, f *Facts) {
			e.ThrottledTime, f.WallTime = new(900*ms),
				1900*ms
		},
			explained(api.Explanation{Cause: api.CauseThrottle, WallTime: 900 * ms})},
		{"slower than planned", func(e *api.Evidence, f *Facts) { e.FrequencyRatio = new(0.75) },
			explained(api.Explanation{Cause: api.CauseFrequency, CPUTime: 249750 * time.Microsecond,
				WallTime: 249750 * time.Microsecond})},
		{"slower than planned, but too short to say", func(e *api.Evidence, f *Facts) {
			e.FrequencyRatio, f.CPUTime = new(0.75), 9*ms
		}, api.Explained{}},
		{"faster than planned", func(e *api.Evidence, f *Facts) { e.FrequencyRatio = new(1.25) }, api.Explained{}},
		{"the firmware", func(e *api.Evidence, f *Facts) { e.SMIs = new(int64(20)) },
			explained(api.Explanation{Cause: api.CauseSMI, CPUTime: 10 * ms, WallTime: 10 * ms})},
		{"a neighbour", func(e *api.Evidence, f *Facts) { e.NeighboursBusy, f.CPUTime = new(1.0), 1350*ms },
			explained(api.Explanation{Cause: api.CauseNeighbours, CPUTime: 350 * ms, WallTime: 350 * ms})},
		{"a neighbour, a part of the time", func(e *api.Evidence, f *Facts) {
			e.NeighboursBusy, f.CPUTime = new(0.5),
				1175*ms
		},
			explained(api.Explanation{Cause: api.CauseNeighbours, CPUTime: 175 * ms, WallTime: 175 * ms})},
		{"daemons", func(e *api.Evidence, f *Facts) { e.NeighboursBusy = new(0.1) }, api.Explained{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, f := quiet()
			tt.change(&e, &f)
			if diff := cmp.Diff(tt.want, Explain(e, f, planned)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestExplainDeviation(t *testing.T) {
	var got api.Explained
	for _, ratio := range []float64{0.2, 0, -0.2, 6} { // 6: same as 0.35
		ExplainDeviation(&got, 1350*ms, ratio, DefaultThresholds(true))
	}
	want := api.Explained{CPUTime: 575 * ms, WallTime: 575 * ms, Causes: []api.Explanation{
		{Cause: api.CauseCanary, CPUTime: 225 * ms, WallTime: 225 * ms},
		{Cause: api.CauseCanary, CPUTime: 350 * ms, WallTime: 350 * ms}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStealBelowThreshold checks that steal that is usual on the host explains nothing.
func TestStealBelowThreshold(t *testing.T) {
	th := DefaultThresholds(true)
	th.StealTicks = 21
	f := Facts{CPUTime: 900 * ms, WallTime: 1000 * ms, Width: 1}
	for steal, want := range map[time.Duration]time.Duration{200 * ms: 0, 210 * ms: 241 * ms} {
		got := Explain(api.Evidence{ForeignTime: new(time.Duration(0)), StealTime: &steal}, f, th)
		if got.WallTime != want {
			t.Errorf("%s stolen: %s of wall time explained, want %s", steal, got.WallTime, want)
		}
	}
}

// TestFrequencyGain checks that only a CPU that is faster than planned saves time.
func TestFrequencyGain(t *testing.T) {
	th := DefaultThresholds(false)
	e := func(ratio float64) api.Evidence { return api.Evidence{FrequencyRatio: &ratio} }
	got := map[string]time.Duration{"no plan": FrequencyGain(e(1.25), 1000*ms, th)}
	th.Frequency.Plan = 1
	got["faster"] = FrequencyGain(e(1.25), 1000*ms, th)
	got["slower"] = FrequencyGain(e(0.75), 1000*ms, th)
	got["a drift"] = FrequencyGain(e(1.003), 1000*ms, th)
	got["too short to say"] = FrequencyGain(e(1.25), 9*ms, th)
	want := map[string]time.Duration{"no plan": 0, "faster": 250 * ms, "slower": 0, "a drift": 0, "too short to say": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
