package stats

import (
	"math"
	"time"
)

// Baseline is what the times of one workload on one slot are like when nothing
// is wrong.
type Baseline struct {
	Center time.Duration `json:"center_ns"`   // median
	Sigma  float64       `json:"sigma_ratio"` // standard deviation as a part of Center, by the MAD
	Guard  float64       `json:"guard_ratio"` // half width of the guard band, as a part of Center
}

const (
	// A core can be quieter than clocks and counters tell. Without a floor the
	// first reading of another time would be many sigma away.
	leastSigma = 0.001
	// Shifts below half a percent move no verdict that the decision rule
	// does not repeat anyway.
	leastGuard  = 0.005
	guardSigmas = 3
	guardTail   = 0.95 // quantile that the guard band covers, whatever the distribution
)

// LearnBaseline makes a baseline of times. Median and MAD stay what they are
// while less than half of the times are wild. The guard band holds three sigma
// and 95 of 100 of the times. Fewer than 50 times leave Sigma uncertain by more
// than a sixth; the quantile wants 93 to be sure. Without times everything is
// zero, which is no baseline.
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

// known reports whether there is a baseline at all.
func (b Baseline) known() bool { return b.Center > 0 && b.Sigma > 0 }

// Deviation is how much longer t is than the center, as a part of it.
func (b Baseline) Deviation(t time.Duration) float64 {
	return float64(t)/float64(b.Center) - 1
}

// Beyond reports on which side of the guard band t is.
func (b Baseline) Beyond(t time.Duration) Shift {
	switch d := b.Deviation(t); {
	case d > b.Guard:
		return Slower
	case d < -b.Guard:
		return Faster
	}
	return NoShift
}

// standard is t in standard deviations from the center. By logarithms, so that
// twice as fast is as far away as half as fast.
func (b Baseline) standard(t time.Duration) float64 {
	return math.Log(float64(max(t, 1))/float64(b.Center)) / b.Sigma
}
