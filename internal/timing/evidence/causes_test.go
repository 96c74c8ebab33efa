package evidence

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/units"
)

const ms = time.Millisecond

// quiet returns an undisturbed run of one second on one CPU, as measured on bare metal at 250 Hz.
func quiet() (api.Evidence, Facts) {
	e := api.Evidence{
		RunDelay:            new(300 * time.Microsecond),
		ForeignTime:         new(400 * time.Microsecond),
		StealTime:           new(time.Duration(0)),
		VoluntarySwitches:   new(int64(2)),
		InvoluntarySwitches: new(int64(14)),
		Migrations:          new(int64(0)),
		MinorFaults:         new(int64(48900)),
		MajorFaults:         new(int64(0)),
		Throttled:           new(int64(0)),
		Interrupts:          map[string]int64{"LOC": 252, "RES": 2, "CAL": 9, "softirq_ticks": 1},
	}
	f := Facts{CPUTime: 999 * ms, WallTime: 1000 * ms, UserTime: 923 * ms, SystemTime: 76 * ms, Width: 1}
	return e, f
}

func TestCauses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(e *api.Evidence, f *Facts)
		want   []api.Cause
	}{
		{"quiet", func(e *api.Evidence, f *Facts) {}, []api.Cause{}},
		{"nothing known", func(e *api.Evidence, f *Facts) { *e = api.Evidence{} }, []api.Cause{}},
		{"a neighbour had the CPU", func(e *api.Evidence, f *Facts) {
			e.RunDelay, e.ForeignTime, f.WallTime = new(350*ms), new(352*ms), 1350*ms
			e.InvoluntarySwitches = new(int64(120))
		}, []api.Cause{api.CauseWait, api.CauseForeign, api.CausePreempted}},
		{"the same without a count of foreign time", func(e *api.Evidence, f *Facts) {
			e.RunDelay, e.ForeignTime, f.WallTime = new(350*ms), nil, 1350*ms
		}, []api.Cause{api.CauseWait}},
		{"two threads on one CPU wait for each other", func(e *api.Evidence, f *Facts) {
			e.RunDelay, e.InvoluntarySwitches = new(500*ms), new(int64(400))
		}, []api.Cause{}},
		{"the same, sleeping half of the time", func(e *api.Evidence, f *Facts) {
			e.RunDelay, e.InvoluntarySwitches, f.WallTime = new(500*ms), new(int64(400)), 2000*ms
		}, []api.Cause{}},
		{"a slot of unknown width is not judged by its wait", func(e *api.Evidence, f *Facts) {
			e.RunDelay, e.ForeignTime, f.Width, f.WallTime = new(350*ms), nil, 0, 1350*ms
		}, []api.Cause{}},
		{"a sleeper leaves its CPU to kernel threads", func(e *api.Evidence, f *Facts) {
			f.CPUTime, f.SystemTime, f.WallTime, e.ForeignTime = ms, 0, 5000*ms, new(4*ms)
		}, []api.Cause{}},
		{"steal of one tick", func(e *api.Evidence, f *Facts) { e.StealTime = new(10 * ms) },
			[]api.Cause{api.CauseSteal}},
		{"migrated", func(e *api.Evidence, f *Facts) { e.Migrations = new(int64(1)) }, []api.Cause{api.CauseMigrated}},
		{"a wide slot balances", func(e *api.Evidence, f *Facts) { e.Migrations, f.Width = new(int64(9)), 2 },
			[]api.Cause{}},
		{"a device", func(e *api.Evidence, f *Facts) { e.Interrupts["device"] = 1 }, []api.Cause{api.CauseIRQ}},
		{"long handlers", func(e *api.Evidence, f *Facts) { e.Interrupts["softirq_ticks"] = 3 },
			[]api.Cause{api.CauseIRQ}},
		{"machine check", func(e *api.Evidence, f *Facts) { e.Interrupts["MCE"] = 1 }, []api.Cause{api.CauseIRQ}},
		{"NMI watchdog", func(e *api.Evidence, f *Facts) { e.Interrupts["NMI"] = 1 }, []api.Cause{}},
		{"NMI storm", func(e *api.Evidence, f *Facts) { e.Interrupts["NMI"] = 100 }, []api.Cause{api.CauseIRQ}},
		{"tick of 1000 Hz", func(e *api.Evidence, f *Facts) { e.Interrupts["LOC"] = 1003 }, []api.Cause{}},
		{"timer storm", func(e *api.Evidence, f *Facts) { e.Interrupts["LOC"] = 1100 }, []api.Cause{api.CauseTick}},
		{"timers of its sleeps", func(e *api.Evidence, f *Facts) {
			e.Interrupts["LOC"], e.VoluntarySwitches = 9000, new(int64(8900))
		}, []api.Cause{}},
		{"no tick on nohz_full", func(e *api.Evidence, f *Facts) { e.Interrupts["LOC"], f.NohzFull = 6, true },
			[]api.Cause{}},
		{"a tick on nohz_full", func(e *api.Evidence, f *Facts) { f.NohzFull = true }, []api.Cause{api.CauseTick}},
		{"its own threads bring the tick back", func(e *api.Evidence, f *Facts) {
			f.NohzFull, e.RunDelay = true, new(500*ms)
		}, []api.Cause{}},
		{"function calls", func(e *api.Evidence, f *Facts) { e.Interrupts["CAL"] = 120 }, []api.Cause{api.CauseIPI}},
		{"function calls on arm64", func(e *api.Evidence, f *Facts) { e.Interrupts["IPI1"] = 120 },
			[]api.Cause{api.CauseIPI}},
		{"threads on two CPUs call each other", func(e *api.Evidence, f *Facts) {
			e.Interrupts["CAL"], f.Width = 5000,
				2
		}, []api.Cause{}},
		{"hot", func(e *api.Evidence, f *Facts) { e.Interrupts["core_throttles"] = 1 }, []api.Cause{api.CauseThrottle}},
		{"thermal interrupt", func(e *api.Evidence, f *Facts) { e.Interrupts["TRM"] = 1 },
			[]api.Cause{api.CauseThrottle}},
		{"bandwidth", func(e *api.Evidence, f *Facts) { e.Throttled = new(int64(1)) }, []api.Cause{api.CauseThrottle}},
		{"from disk", func(e *api.Evidence, f *Facts) { e.MajorFaults = new(int64(1)) },
			[]api.Cause{api.CauseMajfault}},
		{"slow faults", func(e *api.Evidence, f *Facts) { f.SystemTime = 571 * ms }, []api.Cause{api.CauseFaultCost}},
		{"system calls, hardly a fault", func(e *api.Evidence, f *Facts) {
			f.SystemTime, e.MinorFaults = 571*ms, new(int64(400))
		}, []api.Cause{}},
		{"more system time than faults can take", func(e *api.Evidence, f *Facts) {
			f.SystemTime, e.MinorFaults = 571*ms, new(int64(6000))
		}, []api.Cause{}},
		{"a package too hot", func(e *api.Evidence, f *Facts) { e.Interrupts["package_throttles"] = 1 },
			[]api.Cause{api.CauseThrottle}},
		{"interrupts took its CPU", func(e *api.Evidence, f *Facts) { e.IRQPressure = new(3 * ms) },
			[]api.Cause{api.CauseIRQ}},
		{"a tick takes its CPU", func(e *api.Evidence, f *Facts) { e.IRQPressure = new(ms) }, []api.Cause{}},
		{"other threads than the first waited for a neighbour", func(e *api.Evidence, f *Facts) {
			e.Waited, e.ForeignTime, f.WallTime = new(350*ms), new(352*ms), 1350*ms
		}, []api.Cause{api.CauseWait, api.CauseForeign}},
		{"threads wait for each other, foreign time unknown", func(e *api.Evidence, f *Facts) {
			e.Waited, e.RunDelay, e.Pressure, f.WallTime = new(ms), new(500*ms), new(500*ms), 2000*ms
			e.ForeignTime = nil
		}, []api.Cause{}},
		{"a packet", func(e *api.Evidence, f *Facts) { e.Interrupts["softirq_net"] = 1 },
			[]api.Cause{api.CauseSoftIRQ}},
		{"a disk", func(e *api.Evidence, f *Facts) { e.Interrupts["softirq_block"] = 1 },
			[]api.Cause{api.CauseSoftIRQ}},
		{"a frequency without a plan", func(e *api.Evidence, f *Facts) { e.FrequencyRatio = new(1.3) }, []api.Cause{}},
		{"slower than planned", func(e *api.Evidence, f *Facts) { e.FrequencyRatio = new(0.996) }, []api.Cause{}},
		{"one SMI a second", func(e *api.Evidence, f *Facts) { e.SMIs = new(int64(1)) }, []api.Cause{}},
		{"an SMI in a short run", func(e *api.Evidence, f *Facts) {
			e.SMIs, f.WallTime, f.CPUTime = new(int64(1)), 900*ms, 899*ms
		}, []api.Cause{api.CauseSMI}},
		{"the host swapped", func(e *api.Evidence, f *Facts) { e.Swapped = new(int64(1)) }, []api.Cause{api.CauseSwap}},
		{"the host threw pages out", func(e *api.Evidence, f *Facts) {
			e.Refaults, e.LimitHits = new(int64(1)), new(int64(0))
		}, []api.Cause{api.CauseRefault}},
		{"its own limit threw pages out", func(e *api.Evidence, f *Facts) {
			e.Refaults, e.LimitHits = new(int64(900)), new(int64(4))
		}, []api.Cause{}},
		{"nobody counts how often it was at the limit",
			func(e *api.Evidence, f *Facts) { e.Refaults = new(int64(900)) }, []api.Cause{}},
		{"pages moved between nodes", func(e *api.Evidence, f *Facts) { e.NUMAMigrations = new(int64(1)) },
			[]api.Cause{api.CauseRemote}},
		{"memory of another node", func(e *api.Evidence, f *Facts) {
			e.L3Traffic, e.L3Remote = new(units.Bytes(4e9)), new(units.Bytes(5e7))
		}, []api.Cause{api.CauseRemote}},
		{"a little of it", func(e *api.Evidence, f *Facts) {
			e.L3Traffic, e.L3Remote = new(units.Bytes(4e9)), new(units.Bytes(3e7))
		}, []api.Cause{}},
		{"a little traffic, all of it", func(e *api.Evidence, f *Facts) {
			e.L3Traffic, e.L3Remote = new(units.Bytes(1e7)), new(units.Bytes(1e7))
		}, []api.Cause{}},
		{"for information only", func(e *api.Evidence, f *Facts) {
			e.CPUSwitches, e.CPUArrivals, e.CompactionStalls, e.Instructions = new(int64(9e6)), new(int64(9e6)),
				new(int64(9e6)), new(int64(9e9))
			e.Cycles, e.ReferenceCycles, e.CacheMisses, e.L3Occupancy = new(int64(9e9)), new(int64(9e9)),
				new(int64(9e9)), new(units.Bytes(9e9))
		}, []api.Cause{}},
		{"everything, in the fixed order", func(e *api.Evidence, f *Facts) {
			*e = api.Evidence{RunDelay: new(500 * ms), ForeignTime: new(600 * ms), StealTime: new(600 * ms),
				InvoluntarySwitches: new(int64(900)), Migrations: new(int64(3)), MinorFaults: new(int64(48900)),
				MajorFaults: new(int64(3)), Throttled: new(int64(3)),
				SMIs: new(int64(9)), Swapped: new(int64(9)), Refaults: new(int64(9)), LimitHits: new(int64(0)),
				NUMAMigrations: new(int64(9)), FrequencyRatio: new(1.2),
				Interrupts: map[string]int64{"device": 900, "LOC": 9000, "CAL": 9000, "softirq_net": 9}}
			f.WallTime, f.SystemTime = 2000*ms, 571*ms
		}, ofEvidence(api.CauseFrequency)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, f := quiet()
			tt.change(&e, &f)
			if diff := cmp.Diff(tt.want, Causes(e, f, DefaultThresholds(false))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// ofEvidence returns the causes that this package can find, except for some.
func ofEvidence(without ...api.Cause) []api.Cause {
	return slices.DeleteFunc(api.Causes(), func(c api.Cause) bool {
		return c == api.CauseCanary || c == api.CauseNeighbours || slices.Contains(without, c)
	})
}

// TestFrequency compares the frequency with a plan, in both directions.
func TestFrequency(t *testing.T) {
	for _, tt := range []struct {
		ratio float64
		cpu   time.Duration
		want  []api.Cause
	}{
		{1, 1000 * ms, []api.Cause{}},
		{0.998, 1000 * ms, []api.Cause{}},
		{0.996, 1000 * ms, []api.Cause{api.CauseFrequency}},
		{1.004, 1000 * ms, []api.Cause{api.CauseFrequency}},
		{0.5, 9 * ms, []api.Cause{}},
	} {
		e, f := quiet()
		e.FrequencyRatio, f.CPUTime = &tt.ratio, tt.cpu
		e.MinorFaults, e.ForeignTime = nil, nil
		th := DefaultThresholds(false)
		th.Frequency.Plan = 1
		if diff := cmp.Diff(tt.want, Causes(e, f, th)); diff != "" {
			t.Errorf("ratio %g, %s: %s", tt.ratio, tt.cpu, diff)
		}
	}
}

// TestThresholdsOfVirtualMachines checks that the thresholds of a virtual machine allow what its hypervisor does, and
// no more.
func TestThresholdsOfVirtualMachines(t *testing.T) {
	e, f := quiet()
	e.RunDelay, e.ForeignTime, f.CPUTime = new(3*ms), new(3*ms), 995*ms
	e.Interrupts["device"], e.Interrupts["CAL"], e.InvoluntarySwitches = 40, 120, new(int64(240))
	e.Interrupts["softirq_block"], e.IRQPressure = 40, new(5*ms)
	got := map[bool][]api.Cause{false: Causes(e, f, DefaultThresholds(false)),
		true: Causes(e, f, DefaultThresholds(true))}
	want := map[bool][]api.Cause{
		false: {api.CauseWait, api.CauseForeign, api.CauseIRQ, api.CauseIPI, api.CausePreempted, api.CauseSoftIRQ},
		true:  {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDocListsCauses checks that the documentation of the package lists every cause of api.Catalogue, in its order.
func TestDocListsCauses(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(doc), "// The causes and when a run has them")
	var got []api.Cause
	for _, row := range regexp.MustCompile(`(?m)^//\t(\w+) `).FindAllStringSubmatch(list, -1) {
		got = append(got, api.Cause(row[1]))
	}
	// Package measure runs the reference kernels next to a run.
	want := slices.DeleteFunc(api.Causes(), func(c api.Cause) bool { return c == api.CauseCanary })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
