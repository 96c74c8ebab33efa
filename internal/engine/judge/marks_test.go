package judge_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"judged/internal/api"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/engine/problem"
	"judged/internal/sandbox"
	"judged/internal/testkit"
)

// The value in deploy/PROMISES.md is measured with 200.
var marks = flag.Int("marks", 0, "tests of each kind in TestMarks; 0 means up to 40, until the result is certain")

// TestMarks counts how often a program is accepted of which three of ten runs are fast and the slow ones try to look
// disturbed in every known way. It must not be accepted more often than a program that does not try, measured in the
// same minutes. It ends when no verdict of the tests that are left could change that. The expected values for a machine
// without noise are printed, too. Package measure computes the effect of marks on the rule.
func TestMarks(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup, testkit.GCC)
	const slowMS, fast = 60, 30
	// A run is fast with a probability of this many of the 256 values of a byte.
	p := math.Floor(256*fast/100+1) / 256
	kinds := []string{"timers", "sockets", "forks", "sleeps", "threads", "barriers"}
	program := testkit.CompileC(t, filepath.Join("..", "..", "..", "testdata", "attacks", "170-mark-runs.c"), false)
	eng := openEngine(t, 1)
	number := cmp.Or(*marks, 40)
	margin := 4 * math.Sqrt(0.5/float64(number))
	for policy, expected := range map[api.Policy]float64{api.Single: p, api.Confirm: confirmed(p)} {
		none, counts := &tally{}, map[string]*tally{}
		counts["none"] = none
		for _, kind := range kinds {
			counts[kind] = &tally{}
		}
		open := slices.Clone(kinds)
		for left := number; left > 0; left-- {
			open = slices.DeleteFunc(open, func(kind string) bool {
				return *marks == 0 && counts[kind].most(left) <= none.least(left)+margin
			})
			if len(open) == 0 {
				break
			}
			for _, kind := range append([]string{"none"}, open...) {
				r, err := judge.Run(t.Context(), eng.Worker(eng.Slots()[0]), judge.Task{
					Args:    []string{"./mark", kind, strconv.Itoa(slowMS), strconv.Itoa(fast)},
					Files:   []sandbox.File{{Name: "mark", Path: program, Exec: true}},
					Tests:   []problem.Test{{Name: "1"}},
					Repeats: api.Repeats{Policy: policy},
					Limits: api.Limits{CPUTimeMS: 50, WallTimeMS: 30_000, Memory: 64 << 20, Output: 1 << 20,
						Stack: 8 << 20, Processes: 8},
				}, func(api.TestReport) {})
				if err != nil && !errors.As(err, new(*measure.NoiseError)) { // undecided tests are counted
					t.Fatal(err)
				}
				counts[kind].add(r)
			}
		}
		for _, kind := range append([]string{"none"}, kinds...) {
			c := counts[kind]
			fmt.Fprintf(t.Output(), "%s, %s: accepted %.3f of %d, without noise %.3f; %d runs set aside, %d undecided\n",
				policy, kind, c.ratio(), c.accepted+c.rejected, expected, c.aside, c.undecided)
			if c.ratio() > none.ratio()+margin {
				t.Errorf("%s: marked with %s it is accepted %.3f of the time, without %.3f", policy, kind, c.ratio(),
					none.ratio())
			}
		}
	}
	if err := eng.Close(); err != nil {
		t.Error(err)
	}
}

// tally counts the tests of one kind by verdict.
type tally struct{ accepted, rejected, undecided, aside int }

func (c *tally) add(r api.Report) {
	switch r.Verdict {
	case api.Accepted:
		c.accepted++
	case api.TimeLimit:
		c.rejected++
	default:
		c.undecided++
	}
	for _, run := range r.Tests[0].Runs {
		if !run.Kept {
			c.aside++
		}
	}
}

func (c *tally) ratio() float64 {
	return float64(c.accepted) / float64(max(c.accepted+c.rejected, 1))
}

// most is the highest ratio that is possible after more tests.
func (c *tally) most(more int) float64 {
	return float64(c.accepted+more) / float64(c.accepted+c.rejected+more)
}

// least is the lowest ratio that is possible after more tests.
func (c *tally) least(more int) float64 {
	return float64(c.accepted) / float64(c.accepted+c.rejected+more)
}

// confirmed is the probability that the rule accepts runs that are within the limit with probability p and otherwise
// beyond the guard band. It accepts if the first run is within, or two are within before two are over without one
// within, four are over, or five runs are made.
func confirmed(p float64) float64 {
	var next func(within, over int) float64
	next = func(within, over int) float64 {
		switch {
		case within == 1 && over == 0, within == 2:
			return 1
		case within == 0 && over == 2, over == 4, within+over == 5:
			return 0
		}
		return p*next(within+1, over) + (1-p)*next(within, over+1)
	}
	return next(0, 0)
}
