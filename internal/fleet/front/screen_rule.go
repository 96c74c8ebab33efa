package front

import (
	"fmt"
	"math"
	"slices"
	"time"

	"judged/internal/api"
)

const (
	// enough is the number of submissions that both pools must have judged. The smallest of 299 ratios is, with a
	// confidence of 95 %, below all but 1 % of the ratios for any distribution (Wilks); that of 2995, below all but 0.1
	// %.
	enough = 299
	// enoughForContests is the same for jobs of the priority contest.
	enoughForContests = 2995
)

// needed returns the number of submissions from which the ratio for a job must have been learned.
func needed(p api.Priority) int {
	if p == api.Contest {
		return enoughForContests
	}
	return enough
}

// screenRule decides about a report of the screening pool.
type screenRule struct {
	Limits   api.Limits // of tests that do not have their own
	Smallest float64    // ratio of a time in the screening pool to one in the deciding pool; 0 if unknown
}

// Doubt returns the reason why a report of the screening pool does not decide, or "" if it does.
func (r screenRule) Doubt(rep api.Report) string {
	switch {
	case rep.Verdict == api.NotExecutable, rep.Verdict == api.CompileError && api.CompilerRejected(rep.Message):
		return ""
	case rep.Verdict == api.CompileError:
		return "the compiler reached a limit"
	case !rep.Verdict.Decided():
		return "the screening pool has no verdict"
	case rep.Deterministic != nil && !*rep.Deterministic:
		return "the runs differ in more than time"
	case r.Smallest <= 0:
		return "the ratio of times is not known"
	}
	some := false
	for _, t := range rep.Tests {
		if doubt := r.doubtTest(t); doubt != "" {
			return fmt.Sprintf("test %q: %s", t.Name, doubt)
		}
		some = some || t.CPUTime != nil
	}
	if !some {
		return "no test was run"
	}
	return ""
}

func (r screenRule) doubtTest(t api.TestReport) string {
	for _, p := range t.Passes { // the times of the test are those of one of its passes
		if doubt := r.doubtTest(api.TestReport{Limits: t.Limits, Verdict: p.Verdict, CPUTime: p.CPUTime,
			WallTime: p.WallTime}); doubt != "" {
			return doubt
		}
	}
	switch {
	case t.Verdict == api.Skipped || t.Verdict == api.NotExecutable:
		return ""
	case overTime(t.Verdict):
		return "a limit of time was reached"
	case t.Verdict == api.InternalError || t.Verdict == api.Cancelled || t.CPUTime == nil:
		return "no verdict with a time"
	}
	limits := t.Limits.Or(r.Limits)
	if limit := limits.CPUTime(); r.atMost(max(*t.CPUTime, leastTime)) > limit {
		return fmt.Sprintf("%s of CPU time may be more than %s in the deciding pool", *t.CPUTime, limit)
	}
	if limit := limits.WallTime(); t.WallTime != nil && r.atMost(*t.WallTime) > limit {
		return fmt.Sprintf("%s of wall time may be more than %s in the deciding pool", *t.WallTime, limit)
	}
	return ""
}

// atMost returns the maximum time in the deciding pool for a time in the screening pool.
func (r screenRule) atMost(t time.Duration) time.Duration {
	return time.Duration(math.Ceil(float64(t) / r.Smallest))
}

func overTime(v api.Verdict) bool {
	return v == api.TimeLimit || v == api.WallTimeLimit || v == api.IdlenessLimit
}

// smallestLogRatio returns the logarithm of the smallest ratio, over the tests of a submission, of the time in the
// screening pool to that in the deciding pool. Tests that take less than leastTime in the deciding pool are ignored. In the
// screening pool, a shorter time counts as leastTime.
func smallestLogRatio(screening, deciding api.Report) (smallest float64, ok bool) {
	times := map[string]api.TestReport{}
	for _, t := range screening.Tests {
		times[t.Name] = t
	}
	smallest = math.Inf(1)
	for _, d := range deciding.Tests {
		s, found := times[d.Name]
		if !found || s.CPUTime == nil || d.CPUTime == nil || *d.CPUTime < leastTime || !sameWork(s.Verdict, d.Verdict) {
			continue
		}
		smallest = min(smallest, math.Log(float64(max(*s.CPUTime, leastTime))/float64(*d.CPUTime)))
	}
	return smallest, !math.IsInf(smallest, 1)
}

// sameWork reports whether both times of a test are for the same work. A run that the deciding pool ended at its
// limit would have taken longer, so its ratio is an upper bound. It must count: it is one of the smallest.
func sameWork(screening, deciding api.Verdict) bool {
	whole := []api.Verdict{api.Accepted, api.Partial, api.WrongAnswer, api.PresentationError, api.RuntimeError}
	return slices.Contains(whole, screening) && (deciding == screening || deciding == api.TimeLimit)
}

// maxChance is the probability that a screen is closed although the ratios have not changed.
const maxChance = 1e-4

// drifted reports whether ratios have become smaller than the learned ones. If learned and newer ratios have the same
// distribution, each order is equally likely: the probability that k of m newer ratios are below all n learned ones is
// m!/(m-k)! (m+n-k)!/(m+n)! for any distribution.
func drifted(learned int, smallest float64, newer []float64) bool {
	chance, m := 1.0, len(newer)
	for _, ratio := range newer {
		if ratio < smallest {
			chance *= float64(m) / float64(m+learned)
			m--
		}
	}
	return chance < maxChance
}
