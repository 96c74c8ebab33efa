package render

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
)

func TestWhy(t *testing.T) {
	ms := func(n int) *time.Duration { d := time.Duration(n) * time.Millisecond; return &d }
	timing := func(n int, margin float64, decidedBy, statistic string, c api.Confidence) *api.Timing {
		return &api.Timing{N: n, Statistic: statistic, Limit: time.Second, MarginRatio: margin,
			Guard:        10 * time.Millisecond,
			GuardLearned: true, Policy: api.Confirm, DecidedBy: decidedBy, Confidence: c}
	}
	run := func(cpu int, kept bool, causes ...api.Cause) api.Run {
		r := api.Run{CPUTime: *ms(cpu), WallTime: *ms(cpu + 1), CPUs: "3", Kept: kept, Disturbed: causes}
		if !kept {
			r.Explained.Add(causes[0], *ms(40), *ms(50))
		}
		return r
	}
	explained := func(r api.Run) api.Run {
		r.Explained.Add(api.CauseNeighbours, *ms(20), *ms(20))
		return r
	}
	const noise = "decide test \"1\": noise explains the TLE of 2 runs"
	code := 3
	created := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		r    api.Report
		want []string
	}{
		{"a limit after repeats", api.Report{State: api.Done, Verdict: api.TimeLimit, CPUTime: ms(1030), Attempt: 1,
			CreatedAt: created, StartedAt: created.Add(2 * time.Second),
			Tests: []api.TestReport{{Name: "1", Verdict: api.Accepted},
				{Name: "2", Verdict: api.TimeLimit, CPUTime: ms(1030),
					Timing: timing(2, -0.03, api.ByClear, "median", api.Stable),
					Runs:   []api.Run{run(1020, false, api.CauseForeign), run(1030, true), run(1035, true)}},
				{Name: "3", Verdict: api.Skipped}},
			Host: &api.HostReport{Name: "h", Isolation: "isolcpus", Turbo: "off", Admitted: true}},
			[]string{"TLE, CPU time 1.030 s", "",
				"1. The CPU time of all processes of the program, from their control group, is over the limit.", "",
				"2. Test 2 decides: it is the first of 3, in their order, that failed. Not run: 1.", "",
				"3. Test 2 is TLE.", "", "4. The limit is 1.000 s of CPU time; the time that counts is 3.0 % over it.",
				"   Within 10.0 ms of the limit one run proves nothing (learned from reference kernels on this host).", "",
				"5. It ran 3 times:",
				"   run 1: CPU time 1.020 s, wall time 1.021 s on CPU 3, over the limit; noise " +
					"explains at most 40.0 ms of CPU time and 50.0 ms of wall time (foreign); " +
					"set aside: without that time it is within the limit",
				"   run 2: CPU time 1.030 s, wall time 1.031 s on CPU 3, over the limit",
				"   run 3: CPU time 1.035 s, wall time 1.036 s on CPU 3, over the limit", "",
				"6. What ended the repeats (policy confirm): No run was within the limit, and either two were " +
					"clearly over it or one was stopped far beyond it with nothing that explains the excess.",
				"   Which time counts: the median of 2, 1.030 s.", "   Confidence stable: Repeats agree.", "",
				"7. Seen during the runs; judged doctor --explain NAME says more:",
				"   foreign: " + means(t, api.CauseForeign), "",
				"8. Judged on h: isolation isolcpus, turbo off; the host is fit to judge.",
				"   The host differs from its pool; an operator has admitted it.", "",
				"9. It waited 2.000 s, in attempt 1. Waiting is no part of any time above."}},
		{"accepted", api.Report{State: api.Done, Verdict: api.Accepted, Tests: []api.TestReport{
			{Name: "far", Verdict: api.Accepted, Timing: timing(1, 0.9, api.ByFirst, "single", api.OneRun)},
			{Name: "near", Verdict: api.Accepted, CPUTime: ms(400),
				Timing: timing(1, 0.6, api.ByFirst, "single", api.OneRun)}}},
			[]string{"AC", "", "1. The checker accepts the output.", "",
				"2. No test of 2 failed. Test near is nearest to its time limit.", "", "3. Test near is AC.", "",
				"4. The limit is 1.000 s of CPU time; the time that counts is 60.0 % below it.",
				"   Within 10.0 ms of the limit one run proves nothing (learned from reference kernels on this host).", "",
				"5. What ended the repeats (policy confirm): The first run was enough.",
				"   Which time counts: that of the only run, 400.0 ms.",
				"   Confidence single: One run decided; its time is far from the limit."}},
		{"an exit, in a pass, and points", api.Report{State: api.Done, Verdict: api.RuntimeError,
			Groups: []api.GroupReport{{Name: "a"}}, Tests: []api.TestReport{{Name: "1\x1b", Verdict: api.RuntimeError,
				Exit: &api.Exit{Code: &code}, Pass: 2, Passes: make([]api.PassReport, 3)}}},
			[]string{"RTE", "", "1. The program ended with a status other than 0, or by a signal.", "",
				"2. Test 1\uFFFD decides: it is the first of 1, in their order, that failed.",
				"   The points are those of the groups; judged status lists them.", "",
				"3. Test 1\uFFFD is RTE. exit 3", "   The figures are those of pass 2 of 3."}},
		{"sources", api.Report{State: api.Done, Verdict: api.CompileError, Message: "the compiler exited with status 1",
			Compilation: &api.Compilation{Language: "c", Cached: true, Output: "error: x\nerror: y\n"}},
			[]string{"CE", "", "1. The source does not compile.", "", "2. the compiler exited with status 1", "",
				"3. The source was compiled as c, by an earlier job; that time is not part of any run.", "   error: x",
				"   error: y"}},
		{"a failure of the jury's", api.Report{State: api.Done, Verdict: api.InternalError, Fault: api.JuryFault,
			Message: "icpc checker: was killed by SIGSEGV"},
			[]string{"IE, fault: jury", "", "1. " + meaningOf(api.Verdicts(), "IE"), "",
				"2. Whose fault it is: jury. " + meaningOf(api.Faults(), "jury"), "",
				"3. icpc checker: was killed by SIGSEGV"}},
		{"noise", api.Report{State: api.Done, Verdict: api.InternalError, Fault: api.NoiseFault,
			Message: "judge test \"1\": " + noise, Tests: []api.TestReport{{Name: "1", Verdict: api.InternalError,
				Message: noise,
				Runs:    []api.Run{run(1020, false, api.CauseForeign), run(1030, false, api.CauseForeign)}}}},
			[]string{"IE, fault: noise", "", "1. " + meaningOf(api.Verdicts(), "IE"), "",
				"2. Whose fault it is: noise. " + meaningOf(api.Faults(), "noise"), "",
				"3. judge test \"1\": " + noise, "",
				"4. Test 1 decides: it is the first of 1, in their order, that failed.", "", "5. Test 1 is IE.", "",
				"6. It ran 2 times:",
				"   run 1: CPU time 1.020 s, wall time 1.021 s on CPU 3; noise explains at most 40.0 ms of CPU time and " +
					"50.0 ms of wall time (foreign); set aside: without that time it is within the limit",
				"   run 2: CPU time 1.030 s, wall time 1.031 s on CPU 3; noise explains at most 40.0 ms of CPU time and " +
					"50.0 ms of wall time (foreign); set aside: without that time it is within the limit", "",
				"7. Seen during the runs; judged doctor --explain NAME says more:",
				"   foreign: " + means(t, api.CauseForeign)}},
		{"runs that agree", api.Report{State: api.Done, Verdict: api.TimeLimit, CPUTime: ms(1010),
			Tests: []api.TestReport{{Name: "1", Verdict: api.TimeLimit, CPUTime: ms(1010),
				Timing: timing(2, -0.01, api.ByMajority, "second_min", api.Noisy),
				Runs:   []api.Run{explained(run(1010, true)), run(1100, true)}}}},
			[]string{"TLE, CPU time 1.010 s", "", "1. " + meaningOf(api.Verdicts(), "TLE"), "",
				"2. Test 1 decides: it is the first of 1, in their order, that failed.", "",
				"3. Test 1 is TLE. time is noisy", "",
				"4. The limit is 1.000 s of CPU time; the time that counts is 1.0 % over it.",
				"   Within 10.0 ms of the limit one run proves nothing (learned from reference kernels on this host).", "",
				"5. It ran 2 times:",
				"   run 1: CPU time 1.010 s, wall time 1.011 s on CPU 3, over the limit; noise explains at most 20.0 ms " +
					"of CPU time and 20.0 ms of wall time (neighbours); it counts because the runs agree more closely " +
					"than they would if noise had added that",
				"   run 2: CPU time 1.100 s, wall time 1.101 s on CPU 3, over the limit", "",
				"6. What ended the repeats (policy confirm): Four runs were over the limit.",
				"   Which time counts: the second fastest of 2, 1.010 s.",
				"   Confidence noisy: " + meaningOf(api.Confidences(), "noisy")}},
		{"noise that repeats did not settle", api.Report{State: api.Done, Verdict: api.TimeLimit, CPUTime: ms(1010),
			Tests: []api.TestReport{{Name: "1", Verdict: api.TimeLimit, CPUTime: ms(1010),
				Timing: timing(1, -0.01, api.ByBudget, "single", api.Noisy), Runs: []api.Run{explained(run(1010,
					true))}}}},
			[]string{"TLE, CPU time 1.010 s", "", "1. " + meaningOf(api.Verdicts(), "TLE"), "",
				"2. Test 1 decides: it is the first of 1, in their order, that failed.", "",
				"3. Test 1 is TLE. time is noisy", "",
				"4. The limit is 1.000 s of CPU time; the time that counts is 1.0 % over it.",
				"   Within 10.0 ms of the limit one run proves nothing (learned from reference kernels on this host).", "",
				"5. It ran once:",
				"   run 1: CPU time 1.010 s, wall time 1.011 s on CPU 3, over the limit; noise explains at most 20.0 ms " +
					"of CPU time and 20.0 ms of wall time (neighbours); it counts because another run is over the limit " +
					"without what noise explains", "",
				"6. What ended the repeats (policy confirm): No more runs were allowed; the runs so far decided.",
				"   Which time counts: that of the only run, 1.010 s.",
				"   Confidence noisy: " + meaningOf(api.Confidences(), "noisy")}},
		{"several hosts", api.Report{State: api.Done, Verdict: api.Accepted,
			Screening: &api.Screening{Pool: "cloud", Job: "x", Reason: "a test is over its limit"},
			CrossCheck: &api.CrossCheck{Decision: api.HostsAgree, Hosts: []api.CrossCheckedHost{
				{Node: "a", Verdict: api.Accepted, CPUTime: ms(950)}, {Node: "b", Verdict: api.Accepted}}}},
			[]string{"AC", "", "1. The checker accepts the output.", "",
				"2. Pool cloud judged first, in job x; its report does not count: a test is over its limit.", "",
				"3. Near the limit in a contest, so several hosts were asked (agreed):", "   a: AC, CPU time 950.0 ms",
				"   b: AC, CPU time -"}},
		{"a screen that decided", api.Report{State: api.Done, Verdict: "NEW",
			Screening: &api.Screening{Pool: "cloud", Decided: true, SmallestRatio: 1.2}},
			[]string{"NEW", "", "1. NEW.", "", "2. Pool cloud decided: with the smallest ratio of times " +
				"known, 1.200, every test is within its limit in the deciding pool."}},
		{"judged again", api.Report{State: api.Done, Verdict: api.Accepted, CreatedAt: created,
			StartedAt: created.Add(26 * time.Hour), Attempt: 1, Rejudging: &api.AppliedRejudging{ID: "r", Job: "old",
				PreviousVerdict: api.WrongAnswer}},
			[]string{"AC", "", "1. The checker accepts the output.", "",
				"2. It was judged again, by rejudging r: WA before. Job old has that report.", "",
				"3. It waited 2.000 s, in attempt 1. Waiting is no part of any time above."}},
		{"judged again, queued at an unknown time", api.Report{State: api.Done, Verdict: api.Accepted,
			StartedAt: created, Rejudging: &api.AppliedRejudging{ID: "r", Job: "old", PreviousVerdict: api.WrongAnswer}},
			[]string{"AC", "", "1. The checker accepts the output.", "",
				"2. It was judged again, by rejudging r: WA before. Job old has that report."}},
		{"no verdict yet", api.Report{State: api.Running},
			[]string{"running", "", "1. The job is running: it has no verdict yet."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			queued := tt.r.CreatedAt
			if tt.r.Rejudging != nil && !tt.r.CreatedAt.IsZero() {
				queued = tt.r.StartedAt.Add(-2 * time.Second)
			}
			if err := Why(&b, tt.r, queued); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")); diff != "" {
				t.Errorf("explanation (-want +got):\n%s", diff)
			}
		})
	}
}

func means(t *testing.T, c api.Cause) string {
	t.Helper()
	e, ok := api.Explain(c)
	if !ok {
		t.Fatalf("unknown cause %q", c)
	}
	return e.Means
}
