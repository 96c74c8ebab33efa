package evidence

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/job"
	"judged/internal/base/units"
)

const ms = time.Millisecond

// quiet is an undisturbed run of one second on one CPU, as it looks on bare metal at 250 Hz.
func quiet() (job.Evidence, Facts) {
	e := job.Evidence{
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
		change func(e *job.Evidence, f *Facts)
		want   []job.Cause
	}{
		{"quiet", func(e *job.Evidence, f *Facts) {}, []job.Cause{}},
		{"nothing known", func(e *job.Evidence, f *Facts) { *e = job.Evidence{} }, []job.Cause{}},
		{"a neighbour had the CPU", func(e *job.Evidence, f *Facts) {
			e.RunDelay, e.ForeignTime, f.WallTime = new(350*ms), new(352*ms), 1350*ms
			e.InvoluntarySwitches = new(int64(120))
		}, []job.Cause{job.CauseWait, job.CauseForeign, job.CausePreempted}},
		{"the same without a count of foreign time", func(e *job.Evidence, f *Facts) {
			e.RunDelay, e.ForeignTime, f.WallTime = new(350*ms), nil, 1350*ms
		}, []job.Cause{job.CauseWait}},
		{"two threads on one CPU wait for each other", func(e *job.Evidence, f *Facts) {
			e.RunDelay, e.InvoluntarySwitches = new(500*ms), new(int64(400))
		}, []job.Cause{}},
		{"the same, sleeping half of the time", func(e *job.Evidence, f *Facts) {
			e.RunDelay, e.InvoluntarySwitches, f.WallTime = new(500*ms), new(int64(400)), 2000*ms
		}, []job.Cause{}},
		{"a slot of unknown width is not judged by its wait", func(e *job.Evidence, f *Facts) {
			e.RunDelay, e.ForeignTime, f.Width, f.WallTime = new(350*ms), nil, 0, 1350*ms
		}, []job.Cause{}},
		{"a sleeper leaves its CPU to kernel threads", func(e *job.Evidence, f *Facts) {
			f.CPUTime, f.SystemTime, f.WallTime, e.ForeignTime = ms, 0, 5000*ms, new(4*ms)
		}, []job.Cause{}},
		{"steal of one tick", func(e *job.Evidence, f *Facts) { e.StealTime = new(10 * ms) },
			[]job.Cause{job.CauseSteal}},
		{"migrated", func(e *job.Evidence, f *Facts) { e.Migrations = new(int64(1)) }, []job.Cause{job.CauseMigrated}},
		{"a wide slot balances", func(e *job.Evidence, f *Facts) { e.Migrations, f.Width = new(int64(9)), 2 },
			[]job.Cause{}},
		{"a device", func(e *job.Evidence, f *Facts) { e.Interrupts["device"] = 1 }, []job.Cause{job.CauseIRQ}},
		{"long handlers", func(e *job.Evidence, f *Facts) { e.Interrupts["softirq_ticks"] = 3 },
			[]job.Cause{job.CauseIRQ}},
		{"machine check", func(e *job.Evidence, f *Facts) { e.Interrupts["MCE"] = 1 }, []job.Cause{job.CauseIRQ}},
		{"NMI watchdog", func(e *job.Evidence, f *Facts) { e.Interrupts["NMI"] = 1 }, []job.Cause{}},
		{"NMI storm", func(e *job.Evidence, f *Facts) { e.Interrupts["NMI"] = 100 }, []job.Cause{job.CauseIRQ}},
		{"tick of 1000 Hz", func(e *job.Evidence, f *Facts) { e.Interrupts["LOC"] = 1003 }, []job.Cause{}},
		{"timer storm", func(e *job.Evidence, f *Facts) { e.Interrupts["LOC"] = 1100 }, []job.Cause{job.CauseTick}},
		{"timers of its sleeps", func(e *job.Evidence, f *Facts) {
			e.Interrupts["LOC"], e.VoluntarySwitches = 9000, new(int64(8900))
		}, []job.Cause{}},
		{"no tick on nohz_full", func(e *job.Evidence, f *Facts) { e.Interrupts["LOC"], f.NohzFull = 6, true },
			[]job.Cause{}},
		{"a tick on nohz_full", func(e *job.Evidence, f *Facts) { f.NohzFull = true }, []job.Cause{job.CauseTick}},
		{"its own threads bring the tick back", func(e *job.Evidence, f *Facts) {
			f.NohzFull, e.RunDelay = true, new(500*ms)
		}, []job.Cause{}},
		{"function calls", func(e *job.Evidence, f *Facts) { e.Interrupts["CAL"] = 120 }, []job.Cause{job.CauseIPI}},
		{"function calls on arm64", func(e *job.Evidence, f *Facts) { e.Interrupts["IPI1"] = 120 },
			[]job.Cause{job.CauseIPI}},
		{"threads on two CPUs call each other", func(e *job.Evidence, f *Facts) {
			e.Interrupts["CAL"], f.Width = 5000,
				2
		}, []job.Cause{}},
		{"hot", func(e *job.Evidence, f *Facts) { e.Interrupts["core_throttles"] = 1 }, []job.Cause{job.CauseThrottle}},
		{"thermal interrupt", func(e *job.Evidence, f *Facts) { e.Interrupts["TRM"] = 1 },
			[]job.Cause{job.CauseThrottle}},
		{"bandwidth", func(e *job.Evidence, f *Facts) { e.Throttled = new(int64(1)) }, []job.Cause{job.CauseThrottle}},
		{"from disk", func(e *job.Evidence, f *Facts) { e.MajorFaults = new(int64(1)) },
			[]job.Cause{job.CauseMajfault}},
		{"slow faults", func(e *job.Evidence, f *Facts) { f.SystemTime = 571 * ms }, []job.Cause{job.CauseFaultCost}},
		{"system calls, hardly a fault", func(e *job.Evidence, f *Facts) {
			f.SystemTime, e.MinorFaults = 571*ms, new(int64(400))
		}, []job.Cause{}},
		{"more system time than faults can take", func(e *job.Evidence, f *Facts) {
			f.SystemTime, e.MinorFaults = 571*ms, new(int64(6000))
		}, []job.Cause{}},
		{"a package too hot", func(e *job.Evidence, f *Facts) { e.Interrupts["package_throttles"] = 1 },
			[]job.Cause{job.CauseThrottle}},
		{"interrupts took its CPU", func(e *job.Evidence, f *Facts) { e.IRQPressure = new(3 * ms) },
			[]job.Cause{job.CauseIRQ}},
		{"a tick takes its CPU", func(e *job.Evidence, f *Facts) { e.IRQPressure = new(ms) }, []job.Cause{}},
		{"other threads than the first waited for a neighbour", func(e *job.Evidence, f *Facts) {
			e.Waited, e.ForeignTime, f.WallTime = new(350*ms), new(352*ms), 1350*ms
		}, []job.Cause{job.CauseWait, job.CauseForeign}},
		{"threads wait for each other, foreign time unknown", func(e *job.Evidence, f *Facts) {
			e.Waited, e.RunDelay, e.Pressure, f.WallTime = new(ms), new(500*ms), new(500*ms), 2000*ms
			e.ForeignTime = nil
		}, []job.Cause{}},
		{"a packet", func(e *job.Evidence, f *Facts) { e.Interrupts["softirq_net"] = 1 },
			[]job.Cause{job.CauseSoftIRQ}},
		{"a disk", func(e *job.Evidence, f *Facts) { e.Interrupts["softirq_block"] = 1 },
			[]job.Cause{job.CauseSoftIRQ}},
		{"a frequency without a plan", func(e *job.Evidence, f *Facts) { e.FrequencyRatio = new(1.3) }, []job.Cause{}},
		{"slower than planned", func(e *job.Evidence, f *Facts) { e.FrequencyRatio = new(0.996) }, []job.Cause{}},
		{"one SMI a second", func(e *job.Evidence, f *Facts) { e.SMIs = new(int64(1)) }, []job.Cause{}},
		{"an SMI in a short run", func(e *job.Evidence, f *Facts) {
			e.SMIs, f.WallTime, f.CPUTime = new(int64(1)), 900*ms, 899*ms
		}, []job.Cause{job.CauseSMI}},
		{"the host swapped", func(e *job.Evidence, f *Facts) { e.Swapped = new(int64(1)) }, []job.Cause{job.CauseSwap}},
		{"the host threw pages out", func(e *job.Evidence, f *Facts) {
			e.Refaults, e.LimitHits = new(int64(1)), new(int64(0))
		}, []job.Cause{job.CauseRefault}},
		{"its own limit threw pages out", func(e *job.Evidence, f *Facts) {
			e.Refaults, e.LimitHits = new(int64(900)), new(int64(4))
		}, []job.Cause{}},
		{"nobody counts how often it was at the limit",
			func(e *job.Evidence, f *Facts) { e.Refaults = new(int64(900)) }, []job.Cause{}},
		{"pages moved between nodes", func(e *job.Evidence, f *Facts) { e.NUMAMigrations = new(int64(1)) },
			[]job.Cause{job.CauseRemote}},
		{"memory of another node", func(e *job.Evidence, f *Facts) {
			e.L3Traffic, e.L3Remote = new(units.Bytes(4e9)), new(units.Bytes(5e7))
		}, []job.Cause{job.CauseRemote}},
		{"a little of it", func(e *job.Evidence, f *Facts) {
			e.L3Traffic, e.L3Remote = new(units.Bytes(4e9)), new(units.Bytes(3e7))
		}, []job.Cause{}},
		{"a little traffic, all of it", func(e *job.Evidence, f *Facts) {
			e.L3Traffic, e.L3Remote = new(units.Bytes(1e7)), new(units.Bytes(1e7))
		}, []job.Cause{}},
		{"for information only", func(e *job.Evidence, f *Facts) {
			e.CPUSwitches, e.CPUArrivals, e.CompactionStalls, e.Instructions = new(int64(9e6)), new(int64(9e6)),
				new(int64(9e6)), new(int64(9e9))
			e.Cycles, e.ReferenceCycles, e.CacheMisses, e.L3Occupancy = new(int64(9e9)), new(int64(9e9)),
				new(int64(9e9)), new(units.Bytes(9e9))
		}, []job.Cause{}},
		{"everything, in the fixed order", func(e *job.Evidence, f *Facts) {
			*e = job.Evidence{RunDelay: new(500 * ms), ForeignTime: new(600 * ms), StealTime: new(600 * ms),
				InvoluntarySwitches: new(int64(900)), Migrations: new(int64(3)), MinorFaults: new(int64(48900)),
				MajorFaults: new(int64(3)), Throttled: new(int64(3)),
				SMIs: new(int64(9)), Swapped: new(int64(9)), Refaults: new(int64(9)), LimitHits: new(int64(0)),
				NUMAMigrations: new(int64(9)), FrequencyRatio: new(1.2),
				Interrupts: map[string]int64{"device": 900, "LOC": 9000, "CAL": 9000, "softirq_net": 9}}
			f.WallTime, f.SystemTime = 2000*ms, 571*ms
		}, ofEvidence(job.CauseFrequency)},
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

// ofEvidence are the causes that this package can find, but for some.
func ofEvidence(without ...job.Cause) []job.Cause {
	return slices.DeleteFunc(job.Causes(), func(c job.Cause) bool {
		return c == job.CauseCanary || c == job.CauseNeighbours || slices.Contains(without, c)
	})
}

// The frequency is held against a plan, from both sides.
func TestFrequency(t *testing.T) {
	for _, tt := range []struct {
		ratio float64
		cpu   time.Duration
		want  []job.Cause
	}{
		{1, 1000 * ms, []job.Cause{}},
		{0.998, 1000 * ms, []job.Cause{}},
		{0.996, 1000 * ms, []job.Cause{job.CauseFrequency}},
		{1.004, 1000 * ms, []job.Cause{job.CauseFrequency}},
		{0.5, 9 * ms, []job.Cause{}},
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

// A virtual machine is allowed what its hypervisor does to it, and not more.
func TestThresholdsOfVirtualMachines(t *testing.T) {
	e, f := quiet()
	e.RunDelay, e.ForeignTime, f.CPUTime = new(3*ms), new(3*ms), 995*ms
	e.Interrupts["device"], e.Interrupts["CAL"], e.InvoluntarySwitches = 40, 120, new(int64(240))
	e.Interrupts["softirq_block"], e.IRQPressure = 40, new(5*ms)
	got := map[bool][]job.Cause{false: Causes(e, f, DefaultThresholds(false)),
		true: Causes(e, f, DefaultThresholds(true))}
	want := map[bool][]job.Cause{
		false: {job.CauseWait, job.CauseForeign, job.CauseIRQ, job.CauseIPI, job.CausePreempted, job.CauseSoftIRQ},
		true:  {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDocListsCauses: the documentation of the package has every cause of job.Catalogue, in its order.
func TestDocListsCauses(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(doc), "// The causes and when a run has them")
	var got []job.Cause
	for _, row := range regexp.MustCompile(`(?m)^//\t(\w+) `).FindAllStringSubmatch(list, -1) {
		got = append(got, job.Cause(row[1]))
	}
	// The reference kernels next to a run are package measure's.
	want := slices.DeleteFunc(job.Causes(), func(c job.Cause) bool { return c == job.CauseCanary })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
