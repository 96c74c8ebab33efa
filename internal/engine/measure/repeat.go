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

// runs are the runs of a test that the rule has decided.
type runs struct {
	test     test
	all      []outcome
	decision stats.Decision
	err      error // why there is no decision: noise
}

// isChecked reports whether no output is being checked any more.
func (r runs) isChecked() bool { return len(r.all) == 0 || r.all[len(r.all)-1].checking == nil }

// report waits for the last check.
func (r runs) report() (job.TestReport, error) {
	if err := awaitCheck(r.all); err != nil {
		return job.TestReport{}, err
	}
	if r.err != nil {
		r.closeNext(nil)
		return undecided(r.test.Request, r.all, r.err), r.err
	}
	report := assemble(r.test.Request, r.all, r.decision, r.test.rule)
	r.closeNext(report.Checker)
	return report, nil
}

// closeNext closes what the checks of the other runs have left for a next pass.
func (r runs) closeNext(except *job.CheckReport) {
	for _, o := range r.all {
		if o.check != nil && o.check != except && o.check.Next != nil {
			o.check.Next.Close()
		}
	}
}

// awaitCheck waits for the check of the latest run; those before it have been waited for.
func awaitCheck(all []outcome) error {
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].awaitCheck()
}

// makeRuns makes runs until the rule has decided. A check ends before the next run begins: what confirms a run near the
// limit must not have it as a neighbour.
func (t test) makeRuns(run func(nextRun) (outcome, error)) (runs, error) {
	var (
		all      []outcome
		kept     []stats.Run
		discards discards
		decision stats.Decision
	)
	for {
		if err := awaitCheck(all); err != nil {
			return runs{}, err
		}
		o, err := run(nextRun{
			Placement: discards.place(decision.Next),
			nearLimit: slices.ContainsFunc(kept, func(r stats.Run) bool { return t.rule.InGuardBand(r.CPUTime) }),
			idleWait:  discards.idleWait,
		})
		if err != nil {
			return runs{}, err
		}
		o.run.Kept, err = t.keep(&o, &discards)
		all = append(all, o)
		if t.Ran != nil {
			t.Ran(o.run)
		}
		if err != nil {
			return runs{t, all, stats.Decision{}, err}, nil
		}
		if o.run.Kept {
			kept = append(kept, o.statsRun())
		}
		if o.result.ExecError != 0 {
			return runs{t, all, stats.Decision{}, nil}, nil
		}
		decision = t.rule.Decide(kept)
		if decision.Done || settled(o, t.rule, len(kept)) {
			return runs{t, all, decision, nil}, nil
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
	above := o.verdict == job.SecurityViolation || o.verdict == job.MemoryLimit || o.check != nil &&
		o.check.FirstExit == job.ExitInteractor && o.verdict.Failed()
	return above && kept >= max(rule.Min, 1)
}

func fixed(r stats.Rule) bool { return r.Min > 0 && r.Min == r.Max }
