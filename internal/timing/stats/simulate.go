package stats

import (
	"math/rand/v2"
	"time"
)

// Simulate judges a program with random runs until they decide or noise prevents a decision. A run is stopped once
// noise no longer explains it.
func (r Rule) Simulate(draw func(Placement) Run) (w Weighed, runs int) {
	var all []Run
	for !w.Done && !w.Undecided {
		run := draw(w.Next)
		run.CPUTime = min(run.CPUTime, r.StopAt()+run.Explained)
		all = append(all, run)
		w = r.Weigh(all)
	}
	return w, len(all)
}

// Over simulates programs with a true time. Their runs vary like the given times, each of which is divided by the usual
// time of its program. It returns how many programs are found over the limit. The same arguments give the same result.
func (r Rule) Over(truth time.Duration, relative []float64, programs int) (over int) {
	random := rand.New(rand.NewPCG(1, uint64(len(relative))))
	draw := func(Placement) Run {
		return Run{CPUTime: time.Duration(float64(truth) * relative[random.IntN(len(relative))])}
	}
	for range programs {
		if found, _ := r.Simulate(draw); found.Over {
			over++
		}
	}
	return over
}
