package stats

import (
	"math"
	"time"
)

// Baseline describes the times of one workload on one healthy slot.
type Baseline struct {
	Center time.Duration `json:"center_ns"`   // median
	Sigma  float64       `json:"sigma_ratio"` // standard deviation as a fraction of Center, estimated from the MAD
	Guard  float64       `json:"guard_ratio"` // half width of the guard band, as a fraction of Center
}

const (
	// The times of a core can vary by less than the resolution of clocks and counters. Without a minimum, the first
	// different reading would be many sigma away.
	leastSigma = 0.001
	// Shifts below half a percent change only verdicts for which the rule asks for more runs anyway.
	leastGuard  = 0.005
	guardSigmas = 3
	guardTail   = 0.95 // quantile that the guard band covers for any distribution
)

// LearnBaseline computes a baseline from times. Median and MAD tolerate outliers in less than half of the times. The
// guard band covers three sigma and 95 % of the times. With fewer than 50 times, the error of Sigma is more than a
// sixth; the quantile needs 93 times to be reliable. Without times the baseline is zero, which means unknown.
func LearnBaseline(times []time.Duration) Baseline {
	if len(times) == 0 {
		return Baseline{}
	}
	d := Describe(times)
	b := Baseline{Center: max(d.Median, 1)}
	sigma, _ := d.Sigma()
	b.Sigma = max(float64(sigma)/float64(b.Center), leastSigma)
	b.Guard = max(leastGuard, guardSigmas*b.Sigma, b.Deviation(Quantile(times, guardTail)))
	return b
}

// known reports whether there is a baseline.
func (b Baseline) known() bool { return b.Center > 0 && b.Sigma > 0 }

// Deviation returns how much longer t is than the center, as a fraction of it.
func (b Baseline) Deviation(t time.Duration) float64 {
	return float64(t)/float64(b.Center) - 1
}

// Beyond returns on which side of the guard band t is.
func (b Baseline) Beyond(t time.Duration) Shift {
	switch d := b.Deviation(t); {
	case d > b.Guard:
		return Slower
	case d < -b.Guard:
		return Faster
	}
	return NoShift
}

// standard returns the distance of t from the center in standard deviations, in logarithms: twice as fast is as far
// away as half as fast.
func (b Baseline) standard(t time.Duration) float64 {
	return math.Log(float64(max(t, 1))/float64(b.Center)) / b.Sigma
}
