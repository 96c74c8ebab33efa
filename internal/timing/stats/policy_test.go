package stats

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"judged/internal/api"
	"judged/internal/testkit"
)

// programs is the number of programs for each cell; make policy judges more of them and prints the table.
var programs = flag.Int("programs", 4000, "programs judged for each cell of the table of policies")

// policy is a way of judging, with its name in the table.
type policy struct {
	name     string
	rule     Rule
	evidence bool // use evidence of what noise can have added to each run
}

func policies() []policy {
	return []policy{
		{"one run", Rule{Policy: api.Single}, false},
		{"single", Rule{Policy: api.Single}, true},
		{"min", Rule{Policy: api.Minimum}, true},
		{"median of 3", Rule{Min: 3, Max: 3}, false},
		{"median of 5", Rule{Min: 5, Max: 5}, false},
		{"confirm", Rule{Policy: api.Confirm}, true},
	}
}

// thetas returns the true times of the programs, as fractions of the limit.
func thetas() []float64 { return []float64{0.50, 0.90, 0.95, 0.98, 1.00, 1.02, 1.05, 1.10, 1.50} }

// cell is the result of a policy for programs with one true time on one machine.
type cell struct {
	programs, over, undecided, runs int
}

func (c *cell) add(w Weighed, runs int) {
	switch {
	case w.Undecided:
		c.undecided++
	case w.Over:
		c.over++
	}
	c.runs += runs
}

// wrong returns the fraction of the programs that got the wrong verdict. At the limit itself no verdict is wrong: the
// result is the fraction found over it.
func (c cell) wrong(theta float64) float64 {
	n := c.over
	if theta > 1 {
		n = c.programs - c.over - c.undecided
	}
	return c.part(n)
}

func (c cell) part(n int) float64 { return float64(n) / float64(c.programs) }

func (c cell) runsEach() float64 { return float64(c.runs) / float64(c.programs) }

// table is the results of all policies on one machine.
type table map[string]map[float64]cell

// wrongUpTo sums the wrong verdicts on programs within the limit up to theta.
func (t table) wrongUpTo(policy string, theta float64) float64 {
	sum := 0.0
	for x, c := range t[policy] {
		if x <= theta {
			sum += c.wrong(x)
		}
	}
	return sum
}

// simulate computes a cell. Every cell has its own seed, so that changing one does not change the others.
func simulate(n noise, p policy, theta float64) cell {
	seed := fnv.New64a()
	fmt.Fprint(seed, n.name, p.name, theta)
	r := rand.New(rand.NewPCG(seed.Sum64(), 4))
	rule := p.rule
	rule.Limit = time.Second
	if rule.Guard == (Guard{}) {
		rule.Guard = Guard{Ratio: 3 * n.sigma, Floor: 5 * ms}
	}
	truth := time.Duration(theta * float64(rule.Limit))
	c := cell{programs: *programs}
	for range c.programs {
		c.add(n.host(r).judge(rule, truth, p.evidence))
	}
	return c
}

// TestPolicies prints the effect of the policies on programs near the limit and far from it, and checks the purpose of
// policy confirm.
func TestPolicies(t *testing.T) {
	testkit.Need(t, testkit.Time) // a simulation of a million judgements
	// The fraction of false time verdicts of a single run that policy confirm may leave, and the upper end of the
	// range, which starts at 0.50 of the limit.
	promises := map[string]struct{ part, upTo float64 }{
		"bare":        {0.1, 0.98},
		"tuned VM":    {0.1, 0.98},
		"noisy VM":    {0.1, 0.98},
		"one-sided":   {0.1, 0.95}, // beyond, half of the runs are over the limit: that is the program's own time
		"heavy tails": {0.1, 0.98},
		// an immediate repeat meets the same condition as the first run, and one run far over the limit is enough
		"bursts":    {0.4, 0.98},
		"frequency": {1.05, 0.98}, // two runs on one slow core agree: canaries detect this
	}
	fmt.Fprintf(t.Output(), "%d programs a cell: wrong verdicts in %% / runs a program. At 1.00 of the limit: found "+
		"over it in %%.\n", *programs)
	for _, n := range machines() {
		all := table{}
		for _, p := range policies() {
			all[p.name] = map[float64]cell{}
			for _, theta := range thetas() {
				all[p.name][theta] = simulate(n, p, theta)
			}
		}
		fmt.Fprintf(t.Output(), "\n%s: %s\n%s", n.name, n.what, all)

		promise, confirm := promises[n.name], all["confirm"]
		kept, one := all.wrongUpTo("confirm", promise.upTo), all.wrongUpTo("one run", promise.upTo)
		if one == 0 || kept > promise.part*one {
			t.Errorf("%s: confirm finds %.4f falsely over the limit, one run %.4f; want at most %v of it", n.name, kept,
				one, promise.part)
		}
		if c := confirm[0.50]; c.wrong(0.50) > 0.0003 || c.runsEach() > 1.005 {
			t.Errorf("%s: a clear AC: %+v", n.name, c)
		}
		if runs := confirm[0.90].runsEach(); runs > 1.2 {
			t.Errorf("%s: at 0.90 of the limit confirm costs %.2f runs", n.name, runs)
		}
		if missed := confirm[1.10].wrong(1.10); missed > 0.001 {
			t.Errorf("%s: at 1.10 of the limit confirm lets %.4f pass", n.name, missed)
		}
	}
}

// TestClearCases checks that on an undisturbed machine every clear AC costs exactly one run, and every clear TLE two
// runs, or one from 1.3 times the limit on.
func TestClearCases(t *testing.T) {
	quiet := noise{name: "quiet", sigma: 0.0013}
	for theta, runs := range map[float64]int{0.50: 1, 0.90: 1, 0.98: 1, 1.02: 2, 1.10: 2, 1.30: 1, 1.50: 1} {
		got := simulate(quiet, policy{"confirm", Rule{Policy: api.Confirm}, true}, theta)
		want := cell{programs: *programs, runs: runs * *programs}
		if theta > 1 {
			want.over = *programs
		}
		if got != want {
			t.Errorf("at %.2f of the limit: got %+v, want %+v", theta, got, want)
		}
	}
}

// TestOver checks that no program at half of the limit is found over it and that all programs far beyond it are. A
// program whose runs are over the limit in three of ten cases is found over it as often as two of up to five of its
// runs agree on that.
func TestOver(t *testing.T) {
	rule := Rule{Policy: api.Confirm, Limit: time.Second, Guard: DefaultGuard()}
	steady, wide := []float64{0.98, 1, 1, 1.02}, []float64{1, 1, 1, 1, 1, 1, 1, 1.05, 1.05, 1.05}
	const n = 20_000
	for _, tt := range []struct {
		truth     time.Duration
		relative  []float64
		low, high float64
	}{
		{500 * ms, steady, 0, 0},
		{1500 * ms, steady, 1, 1},
		{960 * ms, steady, 0, 0},
		{975 * ms, wide, 0.02, 0.12},
		{1010 * ms, wide, 1, 1},
	} {
		got := float64(rule.Over(tt.truth, tt.relative, n)) / n
		if got < tt.low || got > tt.high {
			t.Errorf("%v with %v: found over the limit %.4f of the time, want %v to %v", tt.truth, tt.relative, got,
				tt.low, tt.high)
		}
		if again := float64(rule.Over(tt.truth, tt.relative, n)) / n; again != got {
			t.Errorf("%v: %.4f, then %.4f", tt.truth, got, again)
		}
	}
}

// TestWidestGuard shows why and up to which width a guard is learned: the wider the band, the fewer programs just below
// the limit are falsely found over it, and beyond the widest band hardly any fewer.
func TestWidestGuard(t *testing.T) {
	falsely := func(ratio float64) (sum float64) {
		for _, n := range machines() {
			for _, theta := range []float64{0.95, 0.98} {
				p := policy{fmt.Sprint("confirm ", ratio),
					Rule{Policy: api.Confirm, Guard: Guard{Ratio: ratio, Floor: 5 * ms}}, true}
				sum += simulate(n, p, theta).wrong(theta)
			}
		}
		return sum
	}
	before, widest, twice := falsely(DefaultGuard().Ratio), falsely(mostGuard), falsely(2*mostGuard)
	fmt.Fprintf(t.Output(), "false time verdicts at 0.95 and 0.98 of the limit, added up over %d machines: guard %.2f "+
		"%.4f, %.2f %.4f, %.2f %.4f\n",
		len(machines()), DefaultGuard().Ratio, before, mostGuard, widest, 2*mostGuard, twice)
	if saved := before - widest; saved < before/2 || widest-twice > saved/10 {
		t.Errorf("the widest band saves %.4f of %.4f, and twice its width %.4f more", saved, before, widest-twice)
	}
}

func (t table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s", "time/limit")
	for _, theta := range thetas() {
		fmt.Fprintf(&b, "%13.2f", theta)
	}
	for _, p := range policies() {
		fmt.Fprintf(&b, "\n%-12s", p.name)
		for _, theta := range thetas() {
			c := t[p.name][theta]
			fmt.Fprintf(&b, "%8.3f/%4.2f", 100*c.wrong(theta), c.runsEach())
		}
	}
	return b.String() + "\n"
}
