package stats

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// noise is the model of a machine: a run takes its true time, times a
// log-normal factor, and now and then something disturbs it for an exponential
// while. Evidence sees most disturbances and some that were none.
type noise struct {
	sigma       float64 // of the logarithm
	disturbed   float64 // part of the runs
	disturbance float64 // mean, as a part of the run
	seen        float64 // part of the disturbed runs that evidence notices
	falseAlarms float64 // part of the others that it accuses
}

// noisyVM is a virtual machine with neighbours.
var noisyVM = noise{sigma: 0.025, disturbed: 0.2, disturbance: 0.2, seen: 0.9, falseAlarms: 0.05}

// run draws the time of one run and whether evidence accuses it.
func (n noise) run(r *rand.Rand, truth time.Duration) (t time.Duration, accused bool) {
	f := math.Exp(n.sigma * r.NormFloat64())
	if r.Float64() < n.disturbed {
		f *= 1 + r.ExpFloat64()*n.disturbance
		accused = r.Float64() < n.seen
	} else {
		accused = r.Float64() < n.falseAlarms
	}
	return time.Duration(float64(truth) * f), accused
}

// judge runs a program until rule decides. Accused runs are made again, at most
// budget times; after that the accused ones count.
func (n noise) judge(r *rand.Rand, rule Rule, truth time.Duration, budget int) (over bool, runs int) {
	var clean []time.Duration
	for {
		t, accused := n.run(r, truth)
		runs++
		if accused && budget > 0 {
			budget--
			continue
		}
		clean = append(clean, t)
		if d := rule.Decide(clean); d.Done {
			return d.Over, runs
		}
	}
}

// TestSimulation shows what the policies do to a program on a noisy machine: at
// 0.95 of the limit confirm spares nearly all whom one run condemns, and at
// 1.10 of the limit it condemns as reliably.
func TestSimulation(t *testing.T) {
	const jobs = 20_000
	r := rand.New(rand.NewPCG(20, 26))
	// share is how many of the jobs are found over the limit, and what that costs.
	share := func(policy string, theta float64, budget int) (over, runs float64) {
		rule := Rule{Policy: policy, Limit: time.Second, Guard: 3 * noisyVM.sigma, GuardFloor: 5 * ms}
		for range jobs {
			o, n := noisyVM.judge(r, rule, time.Duration(theta*float64(time.Second)), budget)
			runs += float64(n) / jobs
			if o {
				over += 1.0 / jobs
			}
		}
		return over, runs
	}

	single, _ := share(Single, 0.95, 0) // one run, whatever it was
	fastest, _ := share(Minimum, 0.95, 3)
	confirm, runs := share(Confirm, 0.95, 3)
	t.Logf("wrongly over at 0.95 of the limit: single %.4f, min %.4f, confirm %.4f with %.2f runs", single, fastest, confirm, runs)
	if confirm > single/10 || fastest > single/10 {
		t.Errorf("confirm %.4f or min %.4f is more than a tenth of single %.4f", confirm, fastest, single)
	}
	if runs > 1.5 {
		t.Errorf("confirm costs %.2f runs, want at most 1.5", runs)
	}
	if hopeless, runs := share(Confirm, 1.10, 3); hopeless < 0.99 {
		t.Errorf("over at 1.10 of the limit: confirm %.4f with %.2f runs, want at least 0.99", hopeless, runs)
	}
}
