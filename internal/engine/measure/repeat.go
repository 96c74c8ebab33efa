package measure

import (
	"hash/maphash"
	"slices"
	"time"

	"judged/internal/api"
	"judged/internal/timing/stats"
)

// test is a Request that is being run.
type test struct {
	Request
	rule stats.Rule // the same for all runs, even if a new guard band is learned meanwhile
	seed maphash.Seed
}

// nextRun describes how the next run is made.
type nextRun struct {
	stats.Placement
	nearLimit bool          // run reference kernels before and after
	idleWait  time.Duration // maximum time to wait for idle neighbours
}

// runs are the runs of a test that the rule has decided.
type runs struct {
	test     test
	all      []outcome
	decision stats.Decision
	err      error // reason why there is no decision: noise
}

// isChecked reports whether all checks have ended.
func (r runs) isChecked() bool { return len(r.all) == 0 || r.all[len(r.all)-1].checking == nil }

// report waits for the last check and returns the report.
func (r runs) report() (api.TestReport, error) {
	if err := awaitCheck(r.all); err != nil {
		return api.TestReport{}, err
	}
	if r.err != nil {
		r.closeNext(nil)
		return undecided(r.test.Request, r.all, r.err), r.err
	}
	report := assemble(r.test.Request, r.all, r.decision, r.test.rule)
	r.closeNext(report.Checker)
	return report, nil
}

// closeNext closes the files that the checks of other runs have prepared for a next pass.
func (r runs) closeNext(except *api.CheckReport) {
	for _, o := range r.all {
		if o.check != nil && o.check != except && o.check.Next != nil {
			o.check.Next.Close()
		}
	}
}

// awaitCheck waits for the check of the latest run; earlier ones have already ended.
func awaitCheck(all []outcome) error {
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].awaitCheck()
}

// makeRuns makes runs until the rule has decided. A check ends before the next run starts, because a run that confirms
// one near the limit must not have the check as a neighbour.
func (t test) makeRuns(run func(nextRun) (outcome, error)) (runs, error) {
	var (
		all      []outcome
		seen     []stats.Run
		weighed  stats.Weighed
		patience = patience{left: maxIdleWait}
	)
	for {
		if err := awaitCheck(all); err != nil {
			return runs{}, err
		}
		o, err := run(nextRun{Placement: weighed.Next, nearLimit: t.anyNearLimit(all), idleWait: patience.next})
		if err != nil {
			return runs{}, err
		}
		all, seen = append(all, o), append(seen, o.statsRun(t.Limits))
		hold(all)
		weighed = t.rule.Weigh(seen)
		for i, kept := range weighed.Kept {
			all[i].run.Kept = kept
		}
		if t.Ran != nil {
			t.Ran()
		}
		switch {
		case weighed.Undecided:
			return runs{t, all, stats.Decision{}, newNoiseError(t.Request, all)}, nil
		case o.result.ExecError != 0:
			return runs{t, all, stats.Decision{}, nil}, nil
		case weighed.Done, settled(o, t.rule, countKept(all)):
			return runs{t, all, weighed.Decision, nil}, nil
		}
		patience.after(o)
	}
}

// anyNearLimit reports whether a counted run was so near the limit that it proves nothing by itself.
func (t test) anyNearLimit(all []outcome) bool {
	return slices.ContainsFunc(all, func(o outcome) bool { return o.run.Kept && t.rule.InGuardBand(o.run.CPUTime) })
}

func countKept(all []outcome) (n int) {
	for _, o := range all {
		if o.run.Kept {
			n++
		}
	}
	return n
}

// settled reports whether more runs cannot change the verdict although the rule on times asks for some: because of a
// verdict that ranks above the time limit. At least one run must count, because the report describes the counted runs.
func settled(o outcome, rule stats.Rule, kept int) bool {
	above := o.verdict == api.SecurityViolation || o.verdict == api.MemoryLimit || o.decided()
	return above && kept >= max(rule.Min, 1)
}
