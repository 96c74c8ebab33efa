package stats

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
)

// load is a model of other programs that keep a host busy. What they add to the CPU time of a run depends on the
// program: every second program is an arithmetic loop that is hardly affected, the others use a cache to a varying
// degree.
type load struct {
	name    string
	sigma   float64 // of the program's own times, in both directions
	adds    float64 // most that is added to a run of the most affected program, as a fraction of the run
	regular float64 // fraction of the largest addition to a program that every run of it gets
	bound   float64 // fraction of a run that evidence says can have been added
	lasts   float64 // probability that the next run meets the same condition: busy or idle
}

// [M] Of working sets between nothing and 1 MiB, next to 1, 2 and 8 loops on the same CPU, those in the L2 cache take
// up to 10 % longer. What is added varies from nothing to twice the mean. "regular" is for a host where it varies half
// as much.
func loads() []load {
	return []load{
		{name: "2 on the CPU", sigma: 0.003, adds: 0.06, bound: 0.1, lasts: 1},
		{name: "8 on the CPU", sigma: 0.005, adds: 0.1, bound: 0.1, lasts: 1},
		{name: "24 on the CPU", sigma: 0.005, adds: 0.1, bound: 0.1, lasts: 1},
		{name: "8, regular", sigma: 0.005, adds: 0.1, regular: 0.5, bound: 0.1, lasts: 1},
		{name: "neighbour", sigma: 0.003, adds: 0.35, bound: 0.26, lasts: 1},
		{name: "neighbour, regular", sigma: 0.003, adds: 0.35, regular: 0.5, bound: 0.26, lasts: 1},
		{name: "neighbour in bursts", sigma: 0.003, adds: 0.35, bound: 0.26, lasts: 0.6},
	}
}

// runs returns a function that draws the runs of a program with a true time.
func (l load) runs(r *rand.Rand, truth time.Duration, evidence bool) func(Placement) Run {
	most := 0.01
	if r.IntN(2) == 0 {
		most = l.adds * r.Float64()
	}
	busy := l.lasts == 1 || r.IntN(2) == 0
	return func(Placement) Run {
		x := float64(truth) * (1 + l.sigma*r.NormFloat64())
		run := Run{CPUTime: time.Duration(x)}
		if busy {
			x *= 1 + most*(l.regular+(1-l.regular)*r.Float64())
			run.CPUTime = time.Duration(x)
		}
		if busy && evidence {
			run.Explained = time.Duration(l.bound * x)
		}
		busy = busy == (r.Float64() < l.lasts)
		return run
	}
}

// judge judges programs with one true time.
func (l load) judge(p policy, theta float64) cell {
	seed := fnv.New64a()
	fmt.Fprint(seed, l.name, p.name, theta)
	r := rand.New(rand.NewPCG(seed.Sum64(), 4))
	c := cell{programs: *programs}
	if testing.Short() {
		c.programs /= 4
	}
	for range c.programs {
		c.add(p.rule.Simulate(l.runs(r, time.Duration(theta*float64(p.rule.Limit)), p.evidence)))
	}
	return c
}

// TestLoad prints what happens to programs on a host that is always busy, and checks the purpose of the rule: noise
// causes no verdict, it prevents few verdicts, and it costs few runs.
func TestLoad(t *testing.T) {
	rule := Rule{Policy: api.Confirm, Limit: time.Second, Guard: DefaultGuard()}
	one := policy{"one run", Rule{Policy: api.Single, Limit: rule.Limit}, false}
	confirm := policy{"confirm", rule, true}
	thetas := []float64{0.90, 0.95, 0.98, 1.02, 1.05, 1.10, 1.15, 1.30, 2.00}
	fmt.Fprintf(t.Output(), "%d programs a cell, at parts of the limit: TLE in %% / IE in %% / runs a program\n",
		*programs)
	for _, l := range loads() {
		var out strings.Builder
		falsely := map[string]int{}
		for _, p := range []policy{one, confirm} {
			fmt.Fprintf(&out, "\n%-8s", p.name)
			for _, theta := range thetas {
				c := l.judge(p, theta)
				over, undecided := c.part(c.over), c.part(c.undecided)
				fmt.Fprintf(&out, "%5.2f:%6.2f/%5.2f/%4.2f", theta, 100*over, 100*undecided, c.runsEach())
				if theta < 1 {
					falsely[p.name] += c.over
				} else if missed := c.wrong(theta); missed > 0.001 && l.lasts == 1 {
					t.Errorf("%s, %s: %.4f of the programs at %.2f of the limit are accepted", l.name, p.name, missed,
						theta)
				}
				if bound := undecidedAtMost(l, theta); p.evidence && undecided > bound {
					t.Errorf("%s: %.3f of the programs at %.2f of the limit have no verdict, want at most %.3f", l.name,
						undecided, theta, bound)
				}
			}
		}
		fmt.Fprintf(t.Output(), "\n%s%s\n", l.name, &out)
		if n, one := falsely["confirm"], falsely["one run"]; one == 0 || n > one/10 {
			t.Errorf("%s: %d programs are falsely found over the limit, by one run %d; want at most a tenth", l.name, n,
				one)
		}
	}
}

// undecidedAtMost returns the fraction of the programs that may be left without a verdict. Before runs that agree
// counted, it was 1.00 from 1.02 of the limit to 1.05 next to other programs on the CPU, 0.6 at 1.10, and 0.07 at 0.98.
func undecidedAtMost(l load, theta float64) float64 {
	switch onTheCPU := l.bound <= 0.1; {
	case theta >= 1.30, onTheCPU && theta >= 1.10:
		return 0.01
	case theta > 1.02:
		return 0.45
	case theta > 1:
		return 0.95
	case l.regular > 0:
		return 0.4
	case !onTheCPU:
		return 0.25
	}
	return 0.08
}

// TestLoadCostsThreeRuns checks that for any noise and any time, a test ends at most three runs later than without
// noise.
func TestLoadCostsThreeRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	ends := map[string]int{}
	for range 30_000 {
		rule := randomRule(r)
		if rule.Limit == 0 {
			continue
		}
		var runs, plain []Run
		var quiet Decision
		n := 0 // number of runs that the rule needs without noise
		w := Weighed{}
		for !w.Done && !w.Undecided {
			run := Run{CPUTime: max(rule.Limit, 40) + time.Duration(r.IntN(61)-30), Explained: time.Duration(r.IntN(40)),
				Saved: time.Duration(r.IntN(3) * r.IntN(20)), Void: r.IntN(9) == 0}
			run.Measured = run.Explained / time.Duration(1+r.IntN(4))
			runs, plain = append(runs, run), append(plain, Run{CPUTime: run.CPUTime})
			if !quiet.Done {
				n++
				quiet = rule.Decide(plain)
			}
			w = rule.Weigh(runs)
			if len(w.Kept) != len(runs) {
				t.Fatalf("%+v on %v: says of %d runs whether they count", rule, runs, len(w.Kept))
			}
			if quiet.Done && len(runs) > n+3 || len(runs) > 20 {
				t.Fatalf("%+v on %v: not decided, without noise it takes %d", rule, runs, n)
			}
		}
		end := "undecided"
		if w.Done {
			end = w.DecidedBy
			if len(runs) > n {
				end += " later"
			}
		}
		ends[end]++
		counting := 0
		for i, kept := range w.Kept {
			if kept {
				counting++
			}
			if kept && runs[i].Void {
				t.Fatalf("%+v on %v: a run that proves nothing counts", rule, runs)
			}
		}
		if w.Done == (counting == 0) || w.Done && w.Undecided {
			t.Fatalf("%+v on %v: %d runs count, %+v", rule, runs, counting, w)
		}
	}
	for _, end := range []string{"undecided", api.ByFirst + " later", api.ByQuorum + " later", api.ByClear + " later",
		api.ByBudget + " later"} {
		if ends[end] == 0 {
			t.Errorf("no random case ended as %q: the test proves less than it says; %v", end, ends)
		}
	}
}
