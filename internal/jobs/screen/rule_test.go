package screen

import (
	"math"
	"testing"
	"time"

	"judged/internal/base/job"
)

const ms = time.Millisecond

// one is a test with its times.
func one(name string, v job.Verdict, cpu, wall time.Duration) job.TestReport {
	return job.TestReport{Name: name, Verdict: v, CPUTime: &cpu, WallTime: &wall}
}

func report(v job.Verdict, tests ...job.TestReport) job.Report {
	return job.Report{Verdict: v, Tests: tests}
}

// TestDoubt has a limit of 1 s of CPU time and 2 s of wall time, and the smallest ratio 0.8.
func TestDoubt(t *testing.T) {
	no, yes := false, true
	fast := one("1", job.Accepted, 800*ms, 900*ms)
	chance := report(job.Accepted, fast)
	chance.Deterministic = &no
	repeated := report(job.Accepted, fast)
	repeated.Deterministic = &yes
	late := report(job.CompileError, job.TestReport{Name: "1", Verdict: job.Skipped})
	late.Message = "the compiler used 10s of CPU time"
	refused := late
	refused.Message = "the compiler exited with status 1"
	slow, failed := 900*ms, one("1", job.WrongAnswer, 1*ms, 1*ms)
	failed.Passes = []job.PassReport{{Verdict: job.Accepted, CPUTime: &slow}, {Verdict: job.WrongAnswer,
		CPUTime: failed.CPUTime}}
	own := func(cpu, wall time.Duration) job.TestReport {
		r := one("1", job.Accepted, cpu, wall)
		r.Limits = job.Limits{CPUTimeMS: 100, WallTimeMS: 200}
		return r
	}
	pass := failed
	pass.Limits = job.Limits{CPUTimeMS: 2000, WallTimeMS: 4000}
	for name, test := range map[string]struct {
		rep     job.Report
		ratio   float64
		decided bool
	}{
		"accepted at the limit": {report(job.Accepted, fast), 0.8, true},
		"accepted a bit above":  {report(job.Accepted, one("1", job.Accepted, 801*ms, 900*ms)), 0.8, false},
		"one test above":        {report(job.Accepted, fast, one("2", job.Accepted, 801*ms, 1)), 0.8, false},
		"no test":               {report(job.Accepted), 0.8, false},
		"all tests skipped":     {report(job.Accepted, job.TestReport{Name: "1", Verdict: job.Skipped}), 0.8, false},
		"the job was not run":   {report(job.Skipped, fast), 0.8, false},
		"partial":               {report(job.Partial, one("1", job.Partial, 10*ms, 10*ms)), 0.8, true},
		"wall time":             {report(job.Accepted, one("1", job.Accepted, 100*ms, 1601*ms)), 0.8, false},
		"wrong within": {report(job.WrongAnswer, fast,
			one("2", job.WrongAnswer, 800*ms, 1)), 0.8, true},
		"wrong above": {report(job.WrongAnswer, one("1", job.WrongAnswer, 900*ms, 1)), 0.8, false},
		"wrong after a test above": {report(job.WrongAnswer, one("1", job.Accepted, 900*ms, 1),
			one("2", job.WrongAnswer, 1, 1)), 0.8, false},
		"crash within":   {report(job.RuntimeError, one("1", job.RuntimeError, 100*ms, 1)), 0.8, true},
		"memory within":  {report(job.MemoryLimit, one("1", job.MemoryLimit, 100*ms, 1)), 0.8, true},
		"memory above":   {report(job.MemoryLimit, one("1", job.MemoryLimit, 950*ms, 1)), 0.8, false},
		"output within":  {report(job.OutputLimit, one("1", job.OutputLimit, 100*ms, 1)), 0.8, true},
		"forbidden call": {report(job.SecurityViolation, one("1", job.SecurityViolation, 1*ms, 1)), 0.8, true},
		"over the limit": {report(job.TimeLimit, one("1", job.TimeLimit, 1100*ms, 1)), 0.8, false},
		"over the limit after a failure": {report(job.WrongAnswer, one("1", job.WrongAnswer, 1, 1),
			one("2", job.TimeLimit, 1, 1)), 0.8, false},
		"wrong after a pass above": {report(job.WrongAnswer, failed), 0.8, false},
		"wall limit":               {report(job.WallTimeLimit, one("1", job.WallTimeLimit, 1, 1)), 0.8, false},
		"idle":                     {report(job.IdlenessLimit, one("1", job.IdlenessLimit, 1, 1)), 0.8, false},
		"failure of judged":        {report(job.InternalError), 0.8, false},
		"no time": {report(job.Accepted,
			job.TestReport{Name: "1", Verdict: job.Accepted}), 0.8, false},
		"skipped tests": {report(job.WrongAnswer, one("1", job.WrongAnswer, 1, 1),
			job.TestReport{Name: "2", Verdict: job.Skipped}), 0.8, true},
		"chance":                  {chance, 0.8, false},
		"repeated":                {repeated, 0.8, true},
		"does not compile":        {refused, 0, true},
		"compiler over its limit": {late, 0.8, false},
		"not executable": {report(job.NotExecutable,
			job.TestReport{Name: "1", Verdict: job.NotExecutable}), 0, true},
		"accepted, ratio not known":   {report(job.Accepted, one("1", job.Accepted, 1*ms, 1*ms)), 0, false},
		"wrong, ratio not known":      {report(job.WrongAnswer, one("1", job.WrongAnswer, 1*ms, 1*ms)), 0, false},
		"within its own limit":        {report(job.Accepted, own(80*ms, 160*ms)), 0.8, true},
		"above its own limit":         {report(job.Accepted, own(81*ms, 90*ms)), 0.8, false},
		"a pass within its own limit": {report(job.WrongAnswer, pass), 0.8, true},
		"above its own wall time":     {report(job.Accepted, own(80*ms, 161*ms)), 0.8, false},
		"short tests count as 50 ms":  {report(job.Accepted, one("1", job.Accepted, 1*ms, 1*ms)), 0.049, false},
	} {
		rule := Rule{job.Limits{CPUTimeMS: 1000, WallTimeMS: 2000}, test.ratio}
		if doubt := rule.Doubt(test.rep); (doubt == "") != test.decided {
			t.Errorf("%s: doubt %q, want decided %v", name, doubt, test.decided)
		}
	}
}

func TestLogRatio(t *testing.T) {
	ac := func(name string, cpu time.Duration) job.TestReport { return one(name, job.Accepted, cpu, cpu) }
	for name, test := range map[string]struct {
		screening, deciding []job.TestReport
		want                float64 // 0 is no ratio
	}{
		"the smallest": {[]job.TestReport{ac("1", 180*ms), ac("2", 300*ms)},
			[]job.TestReport{ac("1", 200*ms), ac("2", 200*ms)}, 0.9},
		"by name": {[]job.TestReport{ac("2", 180*ms)},
			[]job.TestReport{ac("1", 900*ms), ac("2", 200*ms)}, 0.9},
		"short tests":       {[]job.TestReport{ac("1", 10*ms)}, []job.TestReport{ac("1", 49*ms)}, 0},
		"short on one side": {[]job.TestReport{ac("1", 10*ms)}, []job.TestReport{ac("1", 100*ms)}, 0.5},
		"the deciding pool reached its limit": {[]job.TestReport{ac("1", 800*ms)},
			[]job.TestReport{one("1", job.TimeLimit, 1000*ms, 1)}, 0.8},
		"both reached it": {[]job.TestReport{one("1", job.TimeLimit, 800*ms, 1)},
			[]job.TestReport{one("1", job.TimeLimit, 1000*ms, 1)}, 0},
		"other verdicts": {[]job.TestReport{ac("1", 800*ms)},
			[]job.TestReport{one("1", job.WrongAnswer, 1000*ms, 1)}, 0},
		"idle": {[]job.TestReport{one("1", job.IdlenessLimit, 800*ms, 1)},
			[]job.TestReport{one("1", job.IdlenessLimit, 1000*ms, 1)}, 0},
	} {
		log, ok := LogRatio(report("", test.screening...), report("", test.deciding...))
		if ok != (test.want != 0) || ok && math.Abs(math.Exp(log)-test.want) > 1e-9 {
			t.Errorf("%s: ratio %v, %v; want %v", name, math.Exp(log), ok, test.want)
		}
	}
}
