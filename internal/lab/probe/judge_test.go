package probe

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/host/doctor"
	"judged/internal/sandbox/initproc"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

func gaps(lost, longest time.Duration, counts ...uint64) initproc.Gaps {
	g := initproc.Gaps{Elapsed: 3 * time.Second, Lost: lost, Longest: longest, Floor: 500,
		Counts: make([]uint64, len(initproc.GapBounds()))}
	copy(g.Counts, counts)
	return g
}

func delayed(g initproc.Gaps, waited time.Duration) initproc.Gaps {
	g.Waited = waited
	return g
}

func TestJudgeGaps(t *testing.T) {
	waited, foreign := 2*ms, 40*ms
	busy := api.Evidence{RunDelay: &foreign, ForeignTime: &foreign,
		Interrupts: map[string]int64{"LOC": 750, "device": 3, "softirq_net": 9, "RES": 3}}
	for name, tc := range map[string]struct {
		gaps  initproc.Gaps
		class Class
		e     api.Evidence
		want  doctor.Outcome
	}{
		"quiet": {gaps(0, 0), Tuned, api.Evidence{}, doctor.Outcome{Status: api.DoctorPass,
			Found: "0.000 % of 3.000 s lost, longest 0 s (none from 0.5 µs)"}},
		"ticks of a virtual machine": {gaps(20*ms, 350*us, 0, 0, 1053), Virtual, busy,
			doctor.Outcome{Status: api.DoctorPass,
				Found: "0.667 % of 3.000 s lost, longest 350 µs (1053 of 10 µs to 50 µs)"}},
		"the same on bare metal": {delayed(gaps(20*ms, 350*us, 0, 0, 1053), waited), Bare, busy,
			doctor.Outcome{Status: api.DoctorWarn,
				Found: "0.667 % of 3.000 s lost, longest 350 µs (1053 of 10 µs to 50 µs)",
				Reason: "more than 0.1 % is lost, which is what bare metal may lose; meanwhile: others on the CPU " +
					"40.0 ms, waited for the CPU 2.0 ms, " +
					"750 timer interrupts (LOC), 3 rescheduling calls (RES), 3 interrupts of devices"}},
		"ticks where there should be none": {gaps(600*us, 4*us, 0, 200), Tuned, api.Evidence{},
			doctor.Outcome{Status: api.DoctorWarn,
				Found: "0.020 % of 3.000 s lost, longest 4 µs (200 of 2 µs to 10 µs)",
				Reason: "more than 0.01 % is lost, which is what tuned bare metal may lose; meanwhile: nothing that the " +
					"kernel counts, so the hypervisor or the firmware"}},
		"a long one": {gaps(2*ms, 2*ms, 0, 0, 0, 0, 0, 1), Virtual, api.Evidence{StealTime: &waited},
			doctor.Outcome{Status: api.DoctorWarn,
				Found:  "0.067 % of 3.000 s lost, longest 2.0 ms (1 of 1 ms to 10 ms)",
				Reason: "a gap of more than 1 ms; meanwhile: stolen by the hypervisor 2.0 ms"}},
		"a very long one": {gaps(200*ms, 200*ms, 0, 0, 0, 0, 0, 0, 0, 1), Virtual, api.Evidence{},
			doctor.Outcome{Status: api.DoctorFail,
				Found: "6.667 % of 3.000 s lost, longest 200.0 ms (1 of 100 ms and more)",
				Reason: "a gap of more than 10 ms; meanwhile: nothing that the kernel counts, so the hypervisor or the " +
					"firmware"}},
	} {
		if diff := cmp.Diff(tc.want, judgeGaps(tc.gaps, tc.e, tc.class)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestJudgeLimits(t *testing.T) {
	const good = "Cpus_allowed_list:\t2\nMems_allowed_list:\t1\nSeccomp:\t2\n" +
		"NoNewPrivs:\t1\nSpeculation_Store_Bypass:\tvulnerable\n" +
		"Max_cpu_time:\tunlimited unlimited\nWaited_ns:\t1000000\n"
	late := strings.Replace(good, "1000000", "20000000", 1)
	bound := place{CPUs: cpuset.New(2), Node: 1, Bound: true, NohzFull: true}
	run := api.Run{CPUTime: 3 * time.Second, WallTime: 3 * time.Second,
		Evidence: api.Evidence{Interrupts: map[string]int64{"LOC": 4}}}
	held := run
	held.Evidence = api.Evidence{Interrupts: map[string]int64{"LOC": 750}}
	for name, tc := range map[string]struct {
		text   string
		run    api.Run
		place  place
		status api.DoctorStatus
		reason string
	}{
		"as promised": {good, run, bound, api.DoctorPass, ""},
		"other CPUs": {strings.Replace(good, "list:\t2", "list:\t0-3", 1), run, bound, api.DoctorFail,
			"its CPUs are not the slot's"},
		"other memory": {strings.Replace(good, "list:\t1", "list:\t0-1", 1), run, bound, api.DoctorFail,
			"its memory is not of node 1"},
		"memory is not set": {strings.Replace(good, "list:\t1", "list:\t0-1", 1), run, place{CPUs: cpuset.New(2)},
			api.DoctorPass, ""},
		"a limit": {strings.Replace(good, "unlimited ", "10 ", 1), run, bound, api.DoctorFail,
			"RLIMIT_CPU is set, which keeps the tick on"},
		"no filter": {strings.Replace(good, "Seccomp:\t2", "Seccomp:\t0", 1), run, bound, api.DoctorFail,
			"the system call filter is not in force"},
		"forced mitigation": {strings.Replace(good, "vulnerable", "thread force mitigated", 1), run, bound,
			api.DoctorFail, "store bypass is mitigated by force"},
		"nothing written": {"", run, place{CPUs: cpuset.New(2)}, api.DoctorFail,
			"its CPUs are not the slot's; RLIMIT_CPU is set, which keeps the tick on; the system call filter is not in " +
				"force"},
		"ticks and waiting": {late, held, bound, api.DoctorWarn,
			"750 timer interrupts in 3.000 s, though the CPU is in nohz_full; it waited 20.0 ms for its CPU"},
		"ticks are ordinary": {good, api.Run{CPUTime: time.Second, WallTime: time.Second,
			Evidence: api.Evidence{Interrupts: map[string]int64{"LOC": 250}}},
			place{CPUs: cpuset.New(2)}, api.DoctorPass, ""},
		"waiting, too": {late, held, place{CPUs: cpuset.New(2), Virtual: true}, api.DoctorWarn,
			"it waited 20.0 ms for its CPU"},
	} {
		o := judgeLimits(tc.text, tc.run, tc.place)
		if o.Status != tc.status || o.Reason != tc.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", name, o.Status, o.Reason, tc.status, tc.reason)
		}
	}
}

func TestJudgePool(t *testing.T) {
	pool := func(alu time.Duration) *api.KernelTimes {
		return &api.KernelTimes{Program: "ab",
			CPUTime: map[string]time.Duration{initproc.KernelALU: alu, initproc.KernelDRAM: ms}}
	}
	m := medians{initproc.KernelALU: {"2": 10 * ms, "3": 10020 * us}, initproc.KernelSort: {"2": 10 * ms, "3": 10 * ms}}
	for name, tc := range map[string]struct {
		pool *api.KernelTimes
		want doctor.Outcome
	}{
		"alike": {pool(10 * ms), doctor.Outcome{Status: api.DoctorPass, Found: "against the pool alu +0.20 %"}},
		"a slot is slower": {pool(9970 * us), doctor.Outcome{Status: api.DoctorWarn,
			Found:  "against the pool alu +0.50 %",
			Reason: "alu takes +0.50 % on CPU 3 against the pool"}},
		"faster": {pool(11 * ms), doctor.Outcome{Status: api.DoctorFail, Found: "against the pool alu -9.09 %",
			Reason: "alu takes -9.09 % on CPU 2 against the pool"}},
		"another program": {&api.KernelTimes{Program: "cd", CPUTime: pool(ms).CPUTime},
			doctor.Outcome{Status: api.DoctorUnknown,
				Reason: "the pool's times are of another version of judged: make its " +
					"file again with this one"}},
		"other kernels": {&api.KernelTimes{Program: "ab"}, doctor.Outcome{Status: api.DoctorUnknown,
			Reason: "the pool's file has no times of these kernels: make it again with judged doctor --fingerprint " +
				"--probe=probe-canary"}},
	} {
		if diff := cmp.Diff(tc.want, judgePool(m, tc.pool, "ab", api.TimeBoundsOf(false))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	apart := medians{initproc.KernelALU: {"2": 10050 * us, "3": 9800 * us}}
	want := doctor.Outcome{Status: api.DoctorFail, Found: "against the pool alu -2.00 %",
		Reason: "alu takes -2.00 % on CPU 3 against the pool"}
	if diff := cmp.Diff(want, judgePool(apart, pool(10*ms), "ab", api.TimeBoundsOf(false))); diff != "" {
		t.Errorf("one slower, one faster by more (-want +got):\n%s", diff)
	}
	slots, other := doctor.Outcome{Status: api.DoctorPass, Found: "a"},
		doctor.Outcome{Status: api.DoctorWarn, Found: "b", Reason: "c"}
	if diff := cmp.Diff(doctor.Outcome{Status: api.DoctorWarn, Found: "a; b", Reason: "c"},
		both([]doctor.Outcome{slots, other})); diff != "" {
		t.Errorf("both (-want +got):\n%s", diff)
	}
	unknown := doctor.Outcome{Status: api.DoctorUnknown, Reason: "d"}
	if diff := cmp.Diff(doctor.Outcome{Status: api.DoctorUnknown, Found: "a", Reason: "d"},
		both([]doctor.Outcome{slots, unknown})); diff != "" {
		t.Errorf("slots alike, and nothing compared with the pool (-want +got):\n%s", diff)
	}
}

func TestOverAll(t *testing.T) {
	times := map[string]map[string][]time.Duration{initproc.KernelALU: {"2": {5 * ms, 1 * ms},
		"3": {4 * ms, 2 * ms, 3 * ms}}}
	if diff := cmp.Diff(map[string]time.Duration{initproc.KernelALU: 3 * ms}, overAll(times)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestJudgeSlots(t *testing.T) {
	of := func(other time.Duration) medians {
		return medians{initproc.KernelALU: {"2": 10 * ms, "3": other},
			initproc.KernelSort: {"2": 10 * ms, "3": 10 * ms}}
	}
	for name, tc := range map[string]struct {
		other   time.Duration
		virtual bool
		want    doctor.Outcome
	}{
		"alike": {10020 * us, false,
			doctor.Outcome{Status: api.DoctorPass, Found: "apart by alu 0.20 %, sort 0.00 %"}},
		"apart": {9940 * us, false,
			doctor.Outcome{Status: api.DoctorWarn, Found: "apart by alu 0.60 %, sort 0.00 %",
				Reason: "alu takes 0.60 % longer on CPU 2 than on 3"}},
		"far apart": {12 * ms, false,
			doctor.Outcome{Status: api.DoctorFail, Found: "apart by alu 20.00 %, sort 0.00 %",
				Reason: "alu takes 20.00 % longer on CPU 3 than on 2"}},
		"virtual, alike": {10100 * us, true,
			doctor.Outcome{Status: api.DoctorPass, Found: "apart by alu 1.00 %, sort 0.00 %"}},
		"virtual, far apart too": {10600 * us, true,
			doctor.Outcome{Status: api.DoctorFail, Found: "apart by alu 6.00 %, sort 0.00 %",
				Reason: "alu takes 6.00 % longer on CPU 3 than on 2"}},
	} {
		if diff := cmp.Diff(tc.want, judgeSlots(of(tc.other), api.TimeBoundsOf(tc.virtual))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestJudgeNeighbours(t *testing.T) {
	m := medians{initproc.KernelDRAM: {alone: 100 * ms, loaded: 105 * ms},
		initproc.KernelL3: {alone: 10 * ms, loaded: 9900 * us}}
	const found = "dram +5.0 %, l3 -1.0 % next to all other slots"
	for bound, want := range map[float64]doctor.Outcome{
		0.10: {Status: api.DoctorPass, Found: found},
		0.01: {Status: api.DoctorWarn, Found: found,
			Reason: "more than 1 %: plan fewer slots, or limits with that much room"},
	} {
		if diff := cmp.Diff(want, judgeNeighbours(m, bound)); diff != "" {
			t.Errorf("bound %g (-want +got):\n%s", bound, diff)
		}
	}
}

func TestMiddles(t *testing.T) {
	times := map[string]map[string][]time.Duration{}
	for _, d := range []time.Duration{9, 1, 4} {
		add(times, "alu", "2", d)
	}
	if diff := cmp.Diff(medians{"alu": {"2": 4}}, middles(times)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// trace is sample tracer output from the kernel's documentation.
const trace = `# tracer: osnoise
#
#                                _-----=> irqs-off
#           TASK-PID      CPU# ||||   TIMESTAMP    IN US       IN US  AVAILABLE   IN US     HW    NMI    IRQ   SIRQ THREAD
#              | |         |   ||||      |           |             |    |            |      |      |      |      |      |
           <...>-859     [000] ....    81.637220: 1000000        190  99.98100       9     18      0   1007     18      1
       osnoise/2-861     [002] d..2    81.638154: 1000000      90656  90.93440   60000     18      0   1000     16      5
       osnoise/2-861     [002] ....    82.638154: 1000000        104  99.98960      13     18      0   1001     16     25
       osnoise/2-861     [002] ....    83.638154: 1000000         20  99.99800       9      2      0     11     16     25
cut off [002] ....    83.638154: 1000000         20
`

func TestNoise(t *testing.T) {
	lines := parseNoise(trace)
	want := []noise{
		{0, time.Second, 190 * us, 9 * us, 18, 0, 1007, 18, 1},
		{2, time.Second, 90656 * us, 60 * ms, 18, 0, 1000, 16, 5},
		{2, time.Second, 104 * us, 13 * us, 18, 0, 1001, 16, 25},
		{2, time.Second, 20 * us, 9 * us, 2, 0, 11, 16, 25},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Fatalf("lines (-want +got):\n%s", diff)
	}
	const found = "0.006 % of 2.000 s lost, longest 13 µs: hardware 20, NMI 0, interrupts 1012, softirqs 32, threads 50"
	for name, tc := range map[string]struct {
		lines []noise
		class Class
		want  doctor.Outcome
	}{
		"quiet": {lines[2:], Tuned, doctor.Outcome{Status: api.DoctorPass, Found: found}},
		"noisy": {lines[:1], Tuned, doctor.Outcome{Status: api.DoctorWarn,
			Found: "0.019 % of 1.000 s lost, longest 9 µs: hardware 18, NMI 0, interrupts 1007, softirqs 18, " +
				"threads 1",
			Reason: "more than 0.01 % is lost, which is what tuned bare metal may lose; most often: interrupts, 1007 " +
				"times"}},
		"stopped": {[]noise{{2, time.Second, 60 * ms, 60 * ms, 3, 0, 0, 0, 0}}, Virtual,
			doctor.Outcome{Status: api.DoctorFail,
				Found:  "6.000 % of 1.000 s lost, longest 60.0 ms: hardware 3, NMI 0, interrupts 0, softirqs 0, threads 0",
				Reason: "more than 10 ms at once; most often: the hypervisor, 3 times"}},
		"held up": {[]noise{{2, time.Second, 2 * ms, 2 * ms, 0, 0, 1, 0, 3}}, Virtual,
			doctor.Outcome{Status: api.DoctorWarn,
				Found:  "0.200 % of 1.000 s lost, longest 2.0 ms: hardware 0, NMI 0, interrupts 1, softirqs 0, threads 3",
				Reason: "more than 1 ms at once; most often: threads, 3 times"}},
	} {
		if diff := cmp.Diff(tc.want, judgeNoise(tc.lines, tc.class)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzParseNoise(f *testing.F) {
	f.Add(trace)
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range parseNoise(text) {
			if n.Runtime <= 0 || n.Lost < 0 {
				t.Errorf("%+v", n)
			}
		}
	})
}
