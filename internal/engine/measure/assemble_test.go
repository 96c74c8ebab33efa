package measure

import (
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/sandbox"
	"judged/internal/timing/stats"
)

// ran returns an outcome: CPU time in milliseconds, verdict, kept.
func ran(ms int, v api.Verdict, kept bool, causes ...api.Cause) outcome {
	cpu := time.Duration(ms) * time.Millisecond
	peak := units.Bytes(ms) << 10
	return outcome{
		verdict: v,
		run:     api.Run{CPUTime: cpu, WallTime: 2 * cpu, MemoryPeak: &peak, Kept: kept, Disturbed: causes},
		result:  sandbox.Result{CPUTime: cpu, OutputBytes: 7},
	}
}

// summary is the part of a result that the tests compare.
type summary struct {
	Verdict    api.Verdict
	CPUTime    time.Duration
	WallTime   time.Duration
	MemoryPeak units.Bytes
	N          int
	Statistic  string
	Confidence api.Confidence
	Agree      bool
}

func TestAssemble(t *testing.T) {
	const ms = time.Millisecond
	confirm := stats.Rule{Policy: api.Confirm, Limit: time.Second, Guard: stats.DefaultGuard()}
	five := confirm
	five.Min, five.Max = 5, 5
	tests := []struct {
		name string
		rule stats.Rule
		runs []outcome
		want summary
	}{
		{"one run within", confirm, []outcome{ran(400, api.Accepted, true)},
			summary{api.Accepted, 400 * ms, 800 * ms, 400 << 10, 1, "single", api.OneRun, true}},
		{"two clearly over", confirm, []outcome{ran(1100, api.TimeLimit, true), ran(1101, api.TimeLimit, true)},
			summary{api.TimeLimit, 1100*ms + ms/2, 2200 * ms, 1101 << 10, 2, "median", api.Stable, true}},
		{"over first, then twice within", confirm,
			[]outcome{ran(1010, api.TimeLimit, true), ran(900, api.Accepted, true), ran(905, api.Accepted, true)},
			summary{api.Accepted, 905 * ms, 1810 * ms, 1010 << 10, 3, "second_min", api.Borderline, true}},
		{"four over, one within: the majority speaks", confirm,
			[]outcome{ran(1010, api.TimeLimit, true), ran(900, api.Accepted, true),
				ran(1011, api.TimeLimit, true), ran(1012, api.TimeLimit, true), ran(1013, api.TimeLimit, true)},
			summary{api.TimeLimit, 1010 * ms, 2020 * ms, 1013 << 10, 5, "second_min", api.Borderline, true}},
		{"disturbed run over the limit does not count", confirm,
			[]outcome{ran(1100, api.TimeLimit, false, api.CauseForeign), ran(800, api.Accepted, true)},
			summary{api.Accepted, 800 * ms, 1600 * ms, 800 << 10, 1, "single", api.OneRun, true}},
		{"wrong answer and accepted: the failure decides", five,
			[]outcome{ran(10, api.Accepted, true), ran(11, api.WrongAnswer, true), ran(12, api.Accepted, true),
				ran(13, api.Accepted, true), ran(14, api.Accepted, true)},
			summary{api.WrongAnswer, 12 * ms, 24 * ms, 14 << 10, 5, "median", api.Stable, false}},
		{"memory ranks above time and ends the repeating", confirm, []outcome{ran(1100, api.MemoryLimit, true)},
			summary{api.MemoryLimit, 1100 * ms, 2200 * ms, 1100 << 10, 1, "median", api.OneRun, true}},
		{"no clean run", five, []outcome{ran(10, api.Accepted, true, api.CauseWait),
			ran(10, api.Accepted, true, api.CauseWait),
			ran(10, api.Accepted, true, api.CauseWait), ran(10, api.Accepted, true, api.CauseWait),
			ran(10, api.Accepted, true, api.CauseWait)},
			summary{api.Accepted, 10 * ms, 20 * ms, 10 << 10, 5, "median", api.Stable, true}},
		{"a run that does not count has no say", confirm,
			[]outcome{ran(30, api.WallTimeLimit, false), ran(31, api.Accepted, true)},
			summary{api.Accepted, 31 * ms, 62 * ms, 31 << 10, 1, "single", api.OneRun, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var clean []stats.Run
			for _, o := range tt.runs {
				if o.run.Kept {
					clean = append(clean, stats.Run{CPUTime: o.run.CPUTime})
				}
			}
			r := assemble(Request{Name: "1", Args: []string{"./p"}, Limits: limits()}, tt.runs, tt.rule.Decide(clean),
				tt.rule)
			got := summary{r.Verdict, *r.CPUTime, *r.WallTime, *r.MemoryPeak, r.Timing.N, r.Timing.Statistic,
				r.Timing.Confidence, r.Agree}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if len(r.Runs) != len(tt.runs) {
				t.Errorf("%d runs reported, want %d", len(r.Runs), len(tt.runs))
			}
		})
	}
}

// TestAgree checks that the runs of a test agree if all finished runs did the same.
func TestAgree(t *testing.T) {
	with := func(change func(*outcome)) outcome {
		o := ran(10, api.Accepted, true)
		o.digest = 1
		change(&o)
		return o
	}
	same := with(func(*outcome) {})
	for name, tt := range map[string]struct {
		other outcome
		want  bool
	}{
		"same":                    {same, true},
		"verdict":                 {with(func(o *outcome) { o.verdict = api.WrongAnswer }), false},
		"exit code":               {with(func(o *outcome) { o.result.Code = 1 }), false},
		"signal":                  {with(func(o *outcome) { o.result.Signal = syscall.SIGABRT }), false},
		"output":                  {with(func(o *outcome) { o.digest = 2 }), false},
		"output of a stopped run": {with(func(o *outcome) { o.digest, o.result.Stop = 2, sandbox.StopCPU }), true},
		"over the CPU limit":      {with(func(o *outcome) { o.digest, o.verdict = 2, api.TimeLimit }), true},
		"over the wall limit":     {with(func(o *outcome) { o.digest, o.verdict = 2, api.WallTimeLimit }), true},
		"asleep":                  {with(func(o *outcome) { o.digest, o.verdict = 2, api.IdlenessLimit }), true},
	} {
		if got := agree([]outcome{same, tt.other}); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if got := agree([]outcome{tt.other, same}); got != tt.want {
			t.Errorf("%s first: %v, want %v", name, got, tt.want)
		}
	}
	talked := with(func(o *outcome) { o.talked = true })
	pipe := with(func(o *outcome) { o.talked, o.result.Signal = true, syscall.SIGPIPE })
	wrong := with(func(o *outcome) { o.talked, o.verdict = true, api.WrongAnswer })
	if !agree([]outcome{talked, pipe}) || agree([]outcome{talked, wrong}) {
		t.Error("after an interactor the verdict counts, and how the program ended does not")
	}
}

// TestAssembleWhole compares a whole report, to check which run each member is taken from.
func TestAssembleWhole(t *testing.T) {
	const ms = time.Millisecond
	rule := stats.Rule{Policy: api.Confirm, Limit: time.Second, Guard: stats.Guard{Ratio: 0.1, Learned: true}, Min: 3,
		Max: 3}
	runs := []outcome{ran(300, api.Accepted, false), ran(100, api.Accepted, true), ran(140, api.Accepted, true),
		ran(110, api.Accepted, true)}
	user, system := 60*ms, 50*ms
	runs[3].run.UserTime, runs[3].run.SystemTime = &user, &system
	runs[1].check = &api.CheckReport{Verdict: api.Accepted, Score: new(0.5)}
	runs[1].stdout, runs[1].stderr = new("out"), new("err")
	want := api.TestReport{
		Name: "7", Verdict: api.Accepted, Score: new(0.5), Agree: true,
		CPUTime: new(110 * ms), UserTime: &user, SystemTime: &system, WallTime: new(220 * ms),
		MemoryPeak: new(units.Bytes(140 << 10)), Output: new(units.Bytes(7)), Exit: &api.Exit{Code: new(0)},
		Checker: runs[1].check, StdoutHead: new("out"), StderrHead: new("err"),
		Timing: &api.Timing{
			N: 3, Statistic: stats.StatMedian, Min: 100 * ms, Median: 110 * ms, Max: 140 * ms, Spread: 40 * ms,
			SpreadRatio: new(40.0 / 110), MAD: new(10 * ms), Sigma: new(14826 * time.Microsecond),
			Limit: time.Second, MarginRatio: 0.89, Guard: 100 * ms, GuardLearned: true,
			Policy: api.Confirm, DecidedBy: api.ByFixed, Confidence: api.Noisy,
		},
	}
	for _, o := range runs {
		want.Runs = append(want.Runs, o.run)
	}
	decision := rule.Decide([]stats.Run{{CPUTime: 100 * ms}, {CPUTime: 140 * ms}, {CPUTime: 110 * ms}})
	if diff := cmp.Diff(want, assemble(Request{Name: "7", Args: []string{"./p"}}, runs, decision, rule)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTimingWithoutDecision checks that a verdict that ranks above time is reported with the median of the times.
func TestTimingWithoutDecision(t *testing.T) {
	rule := stats.Rule{Policy: api.Confirm, Limit: time.Second}
	got := timing([]outcome{ran(100, api.MemoryLimit, true), ran(300, api.MemoryLimit, true)}, stats.Decision{}, rule)
	want := &api.Timing{
		N: 2, Statistic: stats.StatMedian, Min: 100 * time.Millisecond, Median: 200 * time.Millisecond,
		Max:    300 * time.Millisecond,
		Spread: 200 * time.Millisecond, SpreadRatio: new(1.0), Limit: time.Second, MarginRatio: 0.8,
		Policy: api.Confirm, DecidedBy: api.ByVerdict, Confidence: api.OneRun,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTimingOfMany checks that there is an interval of the median from six runs on.
func TestTimingOfMany(t *testing.T) {
	const ms = time.Millisecond
	rule := stats.Rule{Policy: api.Confirm, Limit: time.Second, Min: 8, Max: 8}
	var kept []outcome
	for _, x := range []int{10, 11, 12, 13, 14, 15, 16, 30} {
		kept = append(kept, ran(x, api.Accepted, true))
	}
	for n, want := range map[int]*[2]time.Duration{5: nil, 6: {10 * ms, 15 * ms}, 8: {11 * ms, 16 * ms}} {
		got := timing(kept[:n], stats.Decision{Done: true}, rule)
		if diff := cmp.Diff(want, got.Interval); diff != "" {
			t.Errorf("%d runs (-want +got):\n%s", n, diff)
		}
	}
	if got := timing(kept[:5], stats.Decision{Done: true}, rule).Sigma; got == nil || *got != 1482600 {
		t.Errorf("sigma of five %v, want 1.4826 times their MAD of 1 ms", got)
	}
	if got := timing(kept[:2], stats.Decision{Done: true}, rule).Sigma; got != nil {
		t.Errorf("sigma of two %v", got)
	}
}

func TestAssembleNotExecutable(t *testing.T) {
	o := ran(0, api.NotExecutable, true)
	o.result.ExecError = syscall.ENOEXEC
	got := assemble(Request{Name: "1", Args: []string{"./p"}}, []outcome{o}, stats.Decision{}, stats.Rule{})
	want := api.TestReport{Name: "1", Verdict: api.NotExecutable, Agree: true,
		Message: `execute "./p": neither an ELF program for this machine nor a script with a #! line`}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(api.TestReport{}, "Runs")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestAssembleFault checks that an IE has its fault.
func TestAssembleFault(t *testing.T) {
	lacking, checked := ran(0, api.InternalError, true), ran(5, api.InternalError, true)
	lacking.result.ExecError, lacking.result.Lacks = syscall.ENOENT, "racket"
	continued := ran(1, api.InternalError, true)
	continued.result.Code, continued.result.Lacks = 127, "racket"
	killed := ran(5, api.InternalError, true)
	killed.result.OOMKills, killed.result.Memory.OOMs = 1, new(int64(0))
	noticed := killed
	noticed.talked, noticed.check = true, &api.CheckReport{Verdict: api.WrongAnswer}
	check := api.FailedCheck(api.JuryFault, "it crashed")
	checked.check = &check
	q := Request{Name: "1", Args: []string{"racket"}}
	for name, tt := range map[string]struct {
		got  api.TestReport
		want api.Fault
	}{
		"the host lacks an interpreter": {assemble(q, []outcome{lacking}, stats.Decision{}, stats.Rule{}), api.HostFault},
		"the host lacks what a script executes": {assemble(q, []outcome{continued}, stats.Decision{Done: true},
			stats.Rule{}), api.HostFault},
		"the host is out of memory": {assemble(q, []outcome{killed}, stats.Decision{Done: true}, stats.Rule{}),
			api.HostFault},
		"the host is out of memory, and the interactor noticed": {assemble(q, []outcome{noticed},
			stats.Decision{Done: true}, stats.Rule{}), api.HostFault},
		"the checker failed": {assemble(q, []outcome{checked}, stats.Decision{}, stats.Rule{}), api.JuryFault},
		"noise":              {undecided(q, nil, &NoiseError{}), api.NoiseFault},
	} {
		if tt.got.Fault != tt.want || tt.got.Verdict != api.InternalError || tt.got.Message == "" {
			t.Errorf("%s: %s, fault %q (%s), want IE, fault %q", name, tt.got.Verdict, tt.got.Fault, tt.got.Message,
				tt.want)
		}
	}
}

// TestNoPointsBeyondTheLimit checks that the points from a checker count only if its verdict does.
func TestNoPointsBeyondTheLimit(t *testing.T) {
	rule := stats.Rule{Policy: api.Single, Limit: time.Second, Guard: stats.DefaultGuard()}
	for verdict, want := range map[api.Verdict]*float64{api.Partial: new(0.5), api.TimeLimit: nil} {
		run := ran(1100, verdict, true)
		run.check = &api.CheckReport{Verdict: api.Partial, Score: new(0.5)}
		r := assemble(Request{Name: "1"}, []outcome{run}, stats.Decision{Done: true, Over: verdict == api.TimeLimit},
			rule)
		if diff := cmp.Diff(want, r.Score); diff != "" {
			t.Errorf("%s (-want +got):\n%s", verdict, diff)
		}
	}
}
