package front

import (
	"math"
	"time"
)

// timeChange is a change in the speed of a host.
type timeChange struct {
	// Earliest is the start of the interval that contains the change, At its most likely time.
	Earliest time.Time `json:"earliest"`
	At       time.Time `json:"at"`
	Shift    float64   `json:"shift_log"` // difference between after and before
}

const (
	// changeLimit is the CUSUM statistic, in standard deviations, from which a change is accepted. In simulated series
	// of 300 values of an unchanged host, with outliers, one in 50 exceeds it.
	changeLimit = 5
	// likelyDrop is by how much the log-likelihood may be below its maximum within the interval of the change: 4 covers
	// more than 99 % of the probability.
	likelyDrop = 4
	// clipAt limits the influence of one value, in standard deviations.
	clipAt = 2
	// leastSide is the minimum number of values for a mean.
	leastSide = 5
)

// findChange finds the largest change in the times of a host against its own past. It compares the means before and
// after every audit, by a CUSUM of the differences from the mean (Hinkley 1971, Inference about the change-point from
// cumulative sum tests). It assumes that the other hosts are as in fit. It returns false if there is no change.
func findChange(host string, pairs []pair, fit pairFit) (timeChange, bool) {
	var at []time.Time
	var own []float64
	for _, p := range pairs {
		y, other := p.LogRatio, p.A
		if p.A == host {
			y, other = -p.LogRatio, p.B
		} else if p.B != host {
			continue
		}
		if h, ok := fit.Host(other); ok {
			at, own = append(at, p.At), append(own, y+h.Effect)
		}
	}
	if len(own) < 2*leastPairs {
		return timeChange{}, false
	}
	best, statistic := split(clip(own, fit.Noise), fit.Noise)
	if statistic[best] < changeLimit {
		return timeChange{}, false
	}
	first := best
	for i := 1; i < best; i++ {
		if (statistic[best]*statistic[best]-statistic[i]*statistic[i])/2 <= likelyDrop {
			first = i
			break
		}
	}
	// The change is after the last audit that does not show it.
	return timeChange{Earliest: at[first-1], At: at[best], Shift: mean(own[best:]) - mean(own[:best])}, true
}

// split returns the first value after the most likely change, and for each value the statistic of a change before it.
func split(xs []float64, sigma float64) (best int, statistic []float64) {
	n := len(xs)
	all := mean(xs)
	statistic = make([]float64, n)
	sum := 0.0
	for i := 1; i < n; i++ {
		sum += xs[i-1] - all
		left := float64(i)
		statistic[i] = math.Abs(sum) / sigma / math.Sqrt(left*(float64(n)-left)/float64(n))
		if i >= leastSide && n-i >= leastSide && statistic[i] > statistic[best] {
			best = i
		}
	}
	return best, statistic
}

// clip limits how far values are from a running median.
func clip(xs []float64, sigma float64) []float64 {
	clipped := make([]float64, len(xs))
	for i, x := range xs {
		around := append([]float64(nil), xs[max(0, i-4):min(len(xs), i+5)]...)
		center := median(around)
		clipped[i] = max(center-clipAt*sigma, min(x, center+clipAt*sigma))
	}
	return clipped
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}
