package front

import (
	"math"
	"testing"
	"time"

	"judged/internal/api"
)

const ms = time.Millisecond

// one returns a test with its times.
func one(name string, v api.Verdict, cpu, wall time.Duration) api.TestReport {
	return api.TestReport{Name: name, Verdict: v, CPUTime: &cpu, WallTime: &wall}
}

func screenReport(v api.Verdict, tests ...api.TestReport) api.Report {
	return api.Report{Verdict: v, Tests: tests}
}

// TestDoubt uses limits of 1 s CPU time and 2 s wall time, and the smallest ratio 0.8.
func TestDoubt(t *testing.T) {
	no, yes := false, true
	fast := one("1", api.Accepted, 800*ms, 900*ms)
	chance := screenReport(api.Accepted, fast)
	chance.Deterministic = &no
	repeated := screenReport(api.Accepted, fast)
	repeated.Deterministic = &yes
	late := screenReport(api.CompileError, api.TestReport{Name: "1", Verdict: api.Skipped})
	late.Message = "the compiler used 10s of CPU time"
	refused := late
	refused.Message = "the compiler exited with status 1"
	slow, failed := 900*ms, one("1", api.WrongAnswer, 1*ms, 1*ms)
	failed.Passes = []api.PassReport{{Verdict: api.Accepted, CPUTime: &slow}, {Verdict: api.WrongAnswer,
		CPUTime: failed.CPUTime}}
	own := func(cpu, wall time.Duration) api.TestReport {
		r := one("1", api.Accepted, cpu, wall)
		r.Limits = api.Limits{CPUTimeMS: 100, WallTimeMS: 200}
		return r
	}
	pass := failed
	pass.Limits = api.Limits{CPUTimeMS: 2000, WallTimeMS: 4000}
	for name, test := range map[string]struct {
		rep     api.Report
		ratio   float64
		decided bool
	}{
		"accepted at the limit": {screenReport(api.Accepted, fast), 0.8, true},
		"accepted a bit above":  {screenReport(api.Accepted, one("1", api.Accepted, 801*ms, 900*ms)), 0.8, false},
		"one test above":        {screenReport(api.Accepted, fast, one("2", api.Accepted, 801*ms, 1)), 0.8, false},
		"no test":               {screenReport(api.Accepted), 0.8, false},
		"all tests skipped":     {screenReport(api.Accepted, api.TestReport{Name: "1", Verdict: api.Skipped}), 0.8, false},
		"the job was not run":   {screenReport(api.Skipped, fast), 0.8, false},
		"partial":               {screenReport(api.Partial, one("1", api.Partial, 10*ms, 10*ms)), 0.8, true},
		"wall time":             {screenReport(api.Accepted, one("1", api.Accepted, 100*ms, 1601*ms)), 0.8, false},
		"wrong within":          {screenReport(api.WrongAnswer, fast, one("2", api.WrongAnswer, 800*ms, 1)), 0.8, true},
		"wrong above":           {screenReport(api.WrongAnswer, one("1", api.WrongAnswer, 900*ms, 1)), 0.8, false},
		"wrong after a test above": {screenReport(api.WrongAnswer, one("1", api.Accepted, 900*ms, 1),
			one("2", api.WrongAnswer, 1, 1)), 0.8, false},
		"crash within":   {screenReport(api.RuntimeError, one("1", api.RuntimeError, 100*ms, 1)), 0.8, true},
		"memory within":  {screenReport(api.MemoryLimit, one("1", api.MemoryLimit, 100*ms, 1)), 0.8, true},
		"memory above":   {screenReport(api.MemoryLimit, one("1", api.MemoryLimit, 950*ms, 1)), 0.8, false},
		"output within":  {screenReport(api.OutputLimit, one("1", api.OutputLimit, 100*ms, 1)), 0.8, true},
		"forbidden call": {screenReport(api.SecurityViolation, one("1", api.SecurityViolation, 1*ms, 1)), 0.8, true},
		"over the limit": {screenReport(api.TimeLimit, one("1", api.TimeLimit, 1100*ms, 1)), 0.8, false},
		"over the limit after a failure": {screenReport(api.WrongAnswer, one("1", api.WrongAnswer, 1, 1),
			one("2", api.TimeLimit, 1, 1)), 0.8, false},
		"wrong after a pass above": {screenReport(api.WrongAnswer, failed), 0.8, false},
		"wall limit":               {screenReport(api.WallTimeLimit, one("1", api.WallTimeLimit, 1, 1)), 0.8, false},
		"idle":                     {screenReport(api.IdlenessLimit, one("1", api.IdlenessLimit, 1, 1)), 0.8, false},
		"failure of judged":        {screenReport(api.InternalError), 0.8, false},
		"no time": {screenReport(api.Accepted,
			api.TestReport{Name: "1", Verdict: api.Accepted}), 0.8, false},
		"skipped tests": {screenReport(api.WrongAnswer, one("1", api.WrongAnswer, 1, 1),
			api.TestReport{Name: "2", Verdict: api.Skipped}), 0.8, true},
		"chance":                  {chance, 0.8, false},
		"repeated":                {repeated, 0.8, true},
		"does not compile":        {refused, 0, true},
		"compiler over its limit": {late, 0.8, false},
		"not executable": {screenReport(api.NotExecutable,
			api.TestReport{Name: "1", Verdict: api.NotExecutable}), 0, true},
		"accepted, ratio not known":   {screenReport(api.Accepted, one("1", api.Accepted, 1*ms, 1*ms)), 0, false},
		"wrong, ratio not known":      {screenReport(api.WrongAnswer, one("1", api.WrongAnswer, 1*ms, 1*ms)), 0, false},
		"within its own limit":        {screenReport(api.Accepted, own(80*ms, 160*ms)), 0.8, true},
		"above its own limit":         {screenReport(api.Accepted, own(81*ms, 90*ms)), 0.8, false},
		"a pass within its own limit": {screenReport(api.WrongAnswer, pass), 0.8, true},
		"above its own wall time":     {screenReport(api.Accepted, own(80*ms, 161*ms)), 0.8, false},
		"short tests count as 50 ms":  {screenReport(api.Accepted, one("1", api.Accepted, 1*ms, 1*ms)), 0.049, false},
	} {
		rule := screenRule{api.Limits{CPUTimeMS: 1000, WallTimeMS: 2000}, test.ratio}
		if doubt := rule.Doubt(test.rep); (doubt == "") != test.decided {
			t.Errorf("%s: doubt %q, want decided %v", name, doubt, test.decided)
		}
	}
}

func TestSmallestLogRatio(t *testing.T) {
	ac := func(name string, cpu time.Duration) api.TestReport { return one(name, api.Accepted, cpu, cpu) }
	for name, test := range map[string]struct {
		screening, deciding []api.TestReport
		want                float64 // 0 means no ratio
	}{
		"the smallest": {[]api.TestReport{ac("1", 180*ms), ac("2", 300*ms)},
			[]api.TestReport{ac("1", 200*ms), ac("2", 200*ms)}, 0.9},
		"by name": {[]api.TestReport{ac("2", 180*ms)},
			[]api.TestReport{ac("1", 900*ms), ac("2", 200*ms)}, 0.9},
		"short tests":       {[]api.TestReport{ac("1", 10*ms)}, []api.TestReport{ac("1", 49*ms)}, 0},
		"short on one side": {[]api.TestReport{ac("1", 10*ms)}, []api.TestReport{ac("1", 100*ms)}, 0.5},
		"the deciding pool reached its limit": {[]api.TestReport{ac("1", 800*ms)},
			[]api.TestReport{one("1", api.TimeLimit, 1000*ms, 1)}, 0.8},
		"both reached it": {[]api.TestReport{one("1", api.TimeLimit, 800*ms, 1)},
			[]api.TestReport{one("1", api.TimeLimit, 1000*ms, 1)}, 0},
		"other verdicts": {[]api.TestReport{ac("1", 800*ms)},
			[]api.TestReport{one("1", api.WrongAnswer, 1000*ms, 1)}, 0},
		"idle": {[]api.TestReport{one("1", api.IdlenessLimit, 800*ms, 1)},
			[]api.TestReport{one("1", api.IdlenessLimit, 1000*ms, 1)}, 0},
	} {
		log, ok := smallestLogRatio(screenReport("", test.screening...), screenReport("", test.deciding...))
		if ok != (test.want != 0) || ok && math.Abs(math.Exp(log)-test.want) > 1e-9 {
			t.Errorf("%s: ratio %v, %v; want %v", name, math.Exp(log), ok, test.want)
		}
	}
}
