package stats

import (
	"math"
	"math/rand/v2"
	"time"
)

// noise is the model of a machine. A run takes its true time times a log-normal factor, plus the disturbances below.
// The shapes of the distributions are assumed; the magnitudes are those of published and of our own measurements.
type noise struct {
	name, what  string
	sigma       float64 // of the logarithm, in both directions
	added       float64 // mean of the exponential time that is added to every run, as a fraction of it
	disturbed   float64 // fraction of the runs that are disturbed
	disturbance float64 // mean, as a fraction of the run
	heavy       bool    // disturbances are Pareto with index 1.5 instead of exponential
	lasts       float64 // probability that a disturbance continues in the next run
	slow        float64 // fraction of the cores that are slower during the whole test
	slowBy      float64 // fraction by which a run is longer on them
	seen        float64 // fraction of the disturbed runs whose disturbance the evidence explains
}

func machines() []noise {
	return []noise{
		{name: "bare", what: "0.13 %, 1 % of the runs by 1 %",
			sigma: 0.0013, disturbed: 0.01, disturbance: 0.01, seen: 0.9},
		{name: "tuned VM", what: "1 %, 5 % of the runs by 5 %",
			sigma: 0.01, disturbed: 0.05, disturbance: 0.05, seen: 0.9},
		{name: "noisy VM", what: "2.5 %, 20 % of the runs by 20 %",
			sigma: 0.025, disturbed: 0.2, disturbance: 0.2, seen: 0.9},
		{name: "one-sided", what: "0.5 %, every run longer by 2 %, unseen", sigma: 0.005, added: 0.02},
		{name: "heavy tails", what: "0.5 %, 10 % of the runs by Pareto from 2 %",
			sigma: 0.005, disturbed: 0.1, disturbance: 0.02, heavy: true, seen: 0.9},
		{name: "bursts", what: "0.5 %, 10 % of the runs by 20 %, 70 % of them followed by the next, half unseen",
			sigma: 0.005, disturbed: 0.1, disturbance: 0.2, lasts: 0.7, seen: 0.5},
		{name: "frequency", what: "0.5 %, 20 % of the cores slower by 8 %, unseen",
			sigma: 0.005, slow: 0.2, slowBy: 0.08},
	}
}

// host is the state of a machine while it judges one test.
type host struct {
	noise
	r         *rand.Rand
	disturbed bool       // whether the last run was disturbed
	cores     [2]float64 // factor by which a run takes longer
}

func (n noise) host(r *rand.Rand) *host {
	h := &host{noise: n, r: r, disturbed: r.Float64() < n.disturbed}
	for i := range h.cores {
		h.cores[i] = 1
		if r.Float64() < n.slow {
			h.cores[i] += n.slowBy
		}
	}
	return h
}

// run returns a random run.
func (h *host) run(truth time.Duration, core int) Run {
	f := h.cores[core] * math.Exp(h.sigma*h.r.NormFloat64()) * (1 + h.added*h.r.ExpFloat64())
	own := time.Duration(float64(truth) * f)
	h.disturbed = h.r.Float64() < h.chance()
	if !h.disturbed {
		return Run{CPUTime: own}
	}
	more := h.r.ExpFloat64()
	if h.heavy {
		more = math.Pow(1-h.r.Float64(), -1/1.5)
	}
	r := Run{CPUTime: own + time.Duration(float64(own)*h.disturbance*more)}
	if h.r.Float64() < h.seen {
		r.Explained = r.CPUTime - own
	}
	return r
}

// chance returns the probability that the next run is disturbed. Over many runs the fraction is the same whether or not
// disturbances last.
func (h *host) chance() float64 {
	p, stay := h.noise.disturbed, h.lasts
	switch {
	case stay == 0:
		return p
	case h.disturbed:
		return stay
	}
	return (1 - stay) * p / (1 - p)
}

// judge runs a program until rule decides. Without evidence, the times are used as measured.
func (h *host) judge(rule Rule, truth time.Duration, evidence bool) (w Weighed, runs int) {
	return rule.Simulate(func(p Placement) Run {
		core := 0
		if p.OtherCore {
			core = 1
		}
		run := h.run(truth, core)
		if !evidence {
			return Run{CPUTime: run.CPUTime}
		}
		return run
	})
}
