package measure

import (
	"hash/maphash"
	"slices"
	"time"

	"judged/internal/base/job"
	"judged/internal/timing/stats"
)

// test is a Request that is being run.
type test struct {
	Request
	rule stats.Rule // the same for all runs, even if a new guard band is learned in between
	seed maphash.Seed
}

// nextRun says how the next run is to be made.
type nextRun struct {
	stats.Placement
	nearLimit bool          // run reference kernels before and after
	idleWait  time.Duration // how long to wait for the neighbours to be idle
}

// repeat makes runs until the rule has decided.
func (t test) repeat(run func(nextRun) (outcome, error)) (job.TestReport, error) {
	var (
		all      []outcome
		kept     []stats.Run
		discards discards
		decision stats.Decision
	)
	for {
		o, err := run(nextRun{
			Placement: discards.place(decision.Next),
			nearLimit: slices.ContainsFunc(kept, func(r stats.Run) bool { return t.rule.InGuardBand(r.CPUTime) }),
			idleWait:  discards.idleWait,
		})
		if err != nil {
			return job.TestReport{}, err
		}
		o.run.Kept, err = t.keep(&o, &discards)
		all = append(all, o)
		if t.Ran != nil {
			t.Ran(o.run)
		}
		if err != nil {
			return undecided(t.Request, all, err), err
		}
		if o.run.Kept {
			kept = append(kept, o.statsRun())
		}
		if o.result.ExecError != 0 {
			return assemble(t.Request, all, stats.Decision{}, t.rule), nil
		}
		decision = t.rule.Decide(kept)
		if decision.Done || settled(o, t.rule, len(kept)) {
			return assemble(t.Request, all, decision, t.rule), nil
		}
	}
}

// statsRun is the run as the rule sees it. The rule does not see what noise may explain of a run that
// counts nevertheless: it would ask for more runs.
func (o outcome) statsRun() stats.Run {
	if o.noisy {
		return stats.Run{CPUTime: o.run.CPUTime}
	}
	return stats.Run{CPUTime: o.run.CPUTime, Explained: o.run.Explained.CPUTime}
}

// settled reports whether more runs cannot change the verdict although the rule on times asks for some: a finding that
// ranks above the time limit. At least one run must count, because the report describes those.
func settled(o outcome, rule stats.Rule, kept int) bool {
	above := o.verdict == job.SecurityViolation || o.verdict == job.MemoryLimit || o.check != nil && o.check.FirstExit == job.ExitInteractor && o.verdict.Failed()
	return above && kept >= max(rule.Min, 1)
}

func fixed(r stats.Rule) bool { return r.Min > 0 && r.Min == r.Max }
