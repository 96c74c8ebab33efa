package stats

import (
	"math/rand/v2"
	"time"
)

// Simulate judges a program whose runs are drawn, until the rule decides. Runs over the limit that noise explains are made
// again, at most budget times; after that they count. A run is stopped where noise does not explain it any more.
func (r Rule) Simulate(draw func(Placement) Run, budget int) (over bool, runs int) {
	var kept []Run
	var d Decision
	for !d.Done {
		run := draw(d.Next)
		run.CPUTime = min(run.CPUTime, r.StopAt()+run.Explained)
		runs++
		if run.CPUTime > r.Limit && run.unexplained() <= r.Limit && budget > 0 {
			budget--
			continue
		}
		kept = append(kept, run)
		d = r.Decide(kept)
	}
	return d.Over, runs
}

// Over simulates programs with a true time whose runs vary as those did that took the times given, each divided by the usual
// time of its program. It returns how many programs are found over the limit, the same ones for the same arguments.
func (r Rule) Over(truth time.Duration, relative []float64, programs int) (over int) {
	random := rand.New(rand.NewPCG(1, uint64(len(relative))))
	draw := func(Placement) Run {
		return Run{CPUTime: time.Duration(float64(truth) * relative[random.IntN(len(relative))])}
	}
	for range programs {
		if found, _ := r.Simulate(draw, 0); found {
			over++
		}
	}
	return over
}
