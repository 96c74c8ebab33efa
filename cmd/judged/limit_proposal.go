package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/engine/problem"
	"judged/internal/service/render"
	"judged/internal/timing/stats"
)

// proposal is a time limit that follows the rule of the package's format.
type proposal struct {
	TimeLimit time.Duration `json:"time_limit_ns"`
	// Low and High are the limits that would follow from the fastest and the slowest run of the slowest accepted test.
	Low     time.Duration `json:"time_limit_min_ns"`
	High    time.Duration `json:"time_limit_max_ns"`
	Slowest solution      `json:"slowest_accepted"`
	// Fastest is the fastest one that must be too slow; nil if the package has no such submission. It is stopped at the
	// limit that it must exceed.
	Fastest *solution `json:"fastest_too_slow,omitempty"`
	// Simulated is the number of simulated solutions with the CPU time of the slowest one, and Wrong how many of them
	// exceed the limit if runs vary as the measured Runs did.
	Simulated int `json:"simulated"`
	Wrong     int `json:"wrong"`
	Runs      int `json:"runs"`
	// Replaced lists the tests that have their own time limits, which were not applied.
	Replaced []string `json:"tests_with_own_limit,omitempty"`
	// Differences lists submissions that must be within the limit and did not do what the package expects. If there are
	// any, the limit may be too small, because the slowest of them may be missing.
	Differences []string `json:"differences,omitempty"`

	rule problem.TimeRule
}

// simulated is the number of simulated solutions.
const simulated = 100_000

// propose measures the submissions that must be accepted. Verify need not judge those again that are.
func (v *verifier) propose(ctx context.Context) (proposal, error) {
	all, err := v.solutions(ctx, v.c.Limits.Max.CPUTime, func(s problem.Submission) bool { return s.Lower && s.MayPass() })
	if err != nil {
		return proposal{}, err
	}
	_, worst := slowest(all, v.c.Limits.Max.CPUTime, isLower)
	if worst == nil {
		return proposal{}, usagef("propose a time limit: %s", strings.Join(append(differences(all),
			"no submission is accepted; add one to submissions/accepted"), "; "))
	}
	v.accepted = map[string]solution{}
	for _, x := range all {
		if isLower(x) && len(x.Differences) == 0 {
			v.accepted[x.Name] = x
		}
	}
	rule := v.pkg.TimeRule
	p := proposal{TimeLimit: rule.Limit(worst.CPUTime), Low: rule.Limit(worst.Low), High: rule.Limit(worst.High),
		Slowest: *worst, Differences: differences(all), rule: rule}
	p.simulate(v.c.Repeats, all)
	return p, nil
}

// judgeTooSlow adds to a proposal what the submissions do that must be too slow.
func (v *verifier) judgeTooSlow(ctx context.Context, p *proposal) error {
	all, err := v.solutions(ctx, p.TimeLimit, func(s problem.Submission) bool { return s.Upper })
	p.Fastest = fastest(all, p.TimeLimit, isUpper)
	p.Differences = append(p.Differences, differences(all)...)
	return err
}

func differences(all []solution) (found []string) {
	for _, s := range all {
		for _, d := range s.Differences {
			found = append(found, s.Name+": "+d)
		}
		if s.NotJudged != "" {
			found = append(found, s.Name+": "+s.NotJudged)
		}
	}
	return found
}

// simulate judges simulated solutions at the margin of the proposed limit.
func (p *proposal) simulate(c config.Repeats, all []solution) {
	relative := relativeTimes(all, p.Slowest.CPUTime/2)
	if p.Runs = len(relative); p.Runs == 0 {
		return
	}
	rule := stats.Rule{Policy: c.Policy, Limit: p.TimeLimit, Guard: stats.DefaultGuard()}
	p.Simulated, p.Wrong = simulated, rule.Over(p.Slowest.CPUTime, relative, simulated)
}

// relativeTimes returns the times of all runs of accepted submissions on tests of a minimum duration, each divided by the
// median of its test. Shorter tests are left out because they vary more in relation to their time, and tests with one
// run because they have no spread.
func relativeTimes(all []solution, least time.Duration) (relative []float64) {
	for _, s := range all {
		for _, t := range s.Tests {
			if t.Verdict != api.Accepted || len(t.Runs) < 2 {
				continue
			}
			sorted := slices.Sorted(slices.Values(t.Runs))
			n := len(sorted)
			usual := (sorted[(n-1)/2] + sorted[n/2]) / 2
			if usual < max(least, 1) {
				continue
			}
			for _, run := range t.Runs {
				relative = append(relative, float64(run)/float64(usual))
			}
		}
	}
	return relative
}

func (p *proposal) print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n", p.summary())
	fmt.Fprintf(w, "time limit %s: %g times %s of %s, rounded up to %s\n"+
		"its runs took %s to %s, which gives limits from %s to %s\n",
		units.Duration(p.TimeLimit), p.rule.Accepted, units.Duration(p.Slowest.CPUTime),
		render.Printable(p.Slowest.Name), units.Duration(p.rule.Resolution), units.Duration(p.Slowest.Low),
		units.Duration(p.Slowest.High), units.Duration(p.Low), units.Duration(p.High))
	if len(p.Replaced) > 0 {
		fmt.Fprintf(w, "the limit is for all tests, also for those that have their own in the package: %s\n",
			render.Printable(strings.Join(p.Replaced, ", ")))
	}
	for _, d := range p.Differences {
		fmt.Fprintf(w, "not as expected: %s\n", render.Printable(d))
	}
	if p.Simulated == 0 {
		_, err := fmt.Fprintln(w, "the variation of times is unknown, because each test ran once; use --repeats")
		return err
	}
	// The rule of three, as none of the n runs was slower than the slowest one.
	_, err := fmt.Fprintf(w,
		"of %d simulated solutions that need %s, %d are found over the limit, if runs vary as these "+
			"%d did; slower runs than these are at most %.0f %% of all (95 %%)\n", p.Simulated,
		units.Duration(p.Slowest.CPUTime), p.Wrong, p.Runs, min(100, 300/float64(p.Runs)))
	return err
}

// manyRepeats is how many runs are suggested where a few are not enough.
const manyRepeats = 20

// summary says in a sentence whether the limit is safe, and why.
func (p *proposal) summary() string {
	because := ""
	switch {
	case len(p.Differences) > 0:
		because = "some solutions do not have the expected results"
	case p.Simulated == 0:
		because = "each test ran once"
	case p.Wrong > 0:
		because = fmt.Sprintf("%d of %d simulated solutions are over it", p.Wrong, p.Simulated)
	}
	text := units.Duration(p.TimeLimit) + " is safe: "
	if because != "" {
		text = fmt.Sprintf("%s may be wrong, because %s: ", units.Duration(p.TimeLimit), because)
	}
	text += fmt.Sprintf("the slowest jury solution took %s", units.Duration(p.Slowest.CPUTime))
	if p.Fastest != nil {
		text += fmt.Sprintf(", the fastest too slow one at least %s", units.Duration(p.Fastest.CPUTime))
	}
	if p.Slowest.runs() < manyRepeats {
		text += fmt.Sprintf("; to be surer run with --repeats %d", manyRepeats)
	}
	return text
}
