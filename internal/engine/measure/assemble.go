package measure

import (
	"fmt"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/sandbox"
	"judged/internal/timing/stats"
)

// assemble returns the report of a test from its runs. The rule decides verdicts about CPU time; any other verdict is
// that of the first run that has it.
func assemble(q Request, all []outcome, d stats.Decision, rule stats.Rule) api.TestReport {
	kept := slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return !o.run.Kept })
	chosen := deciding(kept, d)
	r := api.TestReport{
		Name: q.Name, Verdict: chosen.verdict, Exit: exitOf(chosen.result), Checker: chosen.check,
		Transcript: chosen.transcript, StdoutHead: chosen.stdout, StderrHead: chosen.stderr,
		Kept: chosen.kept, Output: &chosen.result.OutputBytes, Instances: chosen.run.Instances, Agree: agree(all),
	}
	for _, o := range all {
		r.Runs = append(r.Runs, o.run)
	}
	if chosen.check != nil && chosen.check.Verdict == chosen.verdict { // no points for an answer that is too late
		r.Score, r.Ratio = chosen.check.Score, chosen.check.Ratio
	}
	if c := chosen.check; chosen.verdict == api.InternalError && c != nil {
		r.Fail(c.Fault, c.Message)
	}
	if why := whyFailed(chosen, q.Limits); why != "" {
		r.Message = why
	}
	if chosen.verdict == api.InternalError && chosen.result.IsKilledByHost() {
		r.Fail(api.HostFault, fmt.Sprintf("the program was %v", sandbox.ErrHostMemory))
	}
	e := chosen.result.ExecError
	if e != 0 {
		r.Message = whyNotExecutable(e, q.Args[0])
	}
	if chosen.result.Lacks != "" {
		r.Fail(api.HostFault, whyLacking(chosen.result, q.Args[0]))
	}
	if e != 0 {
		r.Output = nil
		return r
	}
	r.Timing = timing(kept, d, rule)
	fillTimes(&r, kept, d)
	return r
}

// undecided returns the report of a test without a verdict.
func undecided(q Request, all []outcome, why error) api.TestReport {
	r := api.TestReport{Name: q.Name, Agree: agree(all)}
	r.Fail(api.FaultOf(why), why.Error())
	for _, o := range all {
		r.Runs = append(r.Runs, o.run)
	}
	return r
}

// deciding returns the run whose verdict, output and exit status are those of the test. If the rule decides that the
// test is over the limit, it is the first run that was over it; otherwise the first that failed for another reason than
// CPU time, or else the first within the limit.
func deciding(kept []outcome, d stats.Decision) outcome {
	if d.Done && d.Over {
		for _, o := range kept {
			if o.verdict == api.TimeLimit {
				return o
			}
		}
	}
	for _, o := range kept {
		if o.verdict != api.TimeLimit && o.verdict != api.Accepted {
			return o
		}
	}
	for _, o := range kept {
		if o.verdict != api.TimeLimit {
			return o
		}
	}
	return kept[0]
}

// agree reports whether the runs of a test agree on everything except time.
func agree(all []outcome) bool {
	var first *outcome
	for i := range all {
		o := &all[i]
		if o.verdict == api.TimeLimit || o.verdict == api.WallTimeLimit || o.verdict == api.IdlenessLimit {
			continue
		}
		if first == nil {
			first = o
			continue
		}
		if o.talked && o.verdict == first.verdict {
			continue // the exit status after the interactor's is racy
		}
		if o.verdict != first.verdict || o.result.Code != first.result.Code || o.result.Signal != first.result.Signal ||
			(o.finished() && first.finished() && o.digest != first.digest) {
			return false
		}
	}
	return true
}

// finished reports whether the run ended without being stopped by judged, so that its output is complete.
func (o outcome) finished() bool { return o.result.Stop == sandbox.StopNone }

func timing(kept []outcome, d stats.Decision, rule stats.Rule) *api.Timing {
	if len(kept) == 0 {
		return nil
	}
	times := cpuTimes(kept)
	s := stats.Describe(times)
	t := &api.Timing{
		N: s.N, Statistic: d.Statistic, Min: s.Min, Median: s.Median, Max: s.Max, Spread: s.Spread,
		Limit: rule.Limit, Policy: rule.Policy, DecidedBy: d.DecidedBy, Confidence: d.Confidence,
	}
	if !d.Done {
		// A verdict that ranks above time ended the repeats. The times are reported but decide nothing.
		t.Statistic, t.DecidedBy, t.Confidence = stats.StatMedian, api.ByVerdict, api.OneRun
		d.Value = s.Median
	}
	if ratio, ok := s.SpreadRatio(); ok {
		t.SpreadRatio = &ratio
	}
	if s.HasMAD {
		t.MAD = &s.MAD
	}
	if sigma, ok := s.Sigma(); ok {
		t.Sigma = &sigma
	}
	if lo, hi, _, ok := stats.MedianInterval(times); ok {
		t.Interval = &[2]time.Duration{lo, hi}
	}
	t.MarginRatio = rule.Margin(d.Value)
	t.Guard, t.GuardLearned = rule.Band(), rule.Guard.Learned
	return t
}

func cpuTimes(outcomes []outcome) []time.Duration {
	times := make([]time.Duration, len(outcomes))
	for i, o := range outcomes {
		times[i] = o.run.CPUTime
	}
	return times
}

// fillTimes sets the CPU time to the deciding statistic. The other times are those of the run whose CPU time is nearest
// to it, so that user, system and wall time belong together.
func fillTimes(r *api.TestReport, kept []outcome, d stats.Decision) {
	if len(kept) == 0 {
		return
	}
	value := d.Value
	if !d.Done {
		value = stats.Describe(cpuTimes(kept)).Median
	}
	nearest := kept[0]
	var peak *units.Bytes
	for _, o := range kept {
		if abs(o.run.CPUTime-value) < abs(nearest.run.CPUTime-value) {
			nearest = o
		}
		if p := o.run.MemoryPeak; p != nil && (peak == nil || *p > *peak) {
			peak = p
		}
	}
	r.CPUTime, r.WallTime, r.MemoryPeak = &value, new(nearest.run.WallTime), peak
	r.UserTime, r.SystemTime = nearest.run.UserTime, nearest.run.SystemTime
}

func abs(d time.Duration) time.Duration { return max(d, -d) }
