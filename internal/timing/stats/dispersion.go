package stats

import (
	"math"
	"slices"
	"time"
)

// Dispersion describes repeated times. The spread grows with N, so spreads for different N are not comparable.
type Dispersion struct {
	N                int
	Min, Median, Max time.Duration
	Spread           time.Duration // Max - Min
	MAD              time.Duration // median of the distances to Median, unscaled; meaningful if HasMAD
	HasMAD           bool          // N >= 3; with fewer, MAD adds nothing to Spread
}

// madFrom is the minimum number of times for a MAD.
const madFrom = 3

// Describe computes the dispersion of xs. The median of an even number of times is the mean of the two middle ones,
// rounded down to the nanosecond. Without times everything is zero.
func Describe(xs []time.Duration) Dispersion {
	if len(xs) == 0 {
		return Dispersion{}
	}
	var scratch buffer
	sorted := scratch.sort(xs)
	d := Dispersion{N: len(xs), Min: sorted[0], Median: middle(sorted), Max: sorted[len(sorted)-1]}
	d.Spread = d.Max - d.Min
	if d.N >= madFrom {
		d.HasMAD = true
		d.MAD = spreadAround(sorted, d.Median)
	}
	return d
}

// SpreadRatio returns Spread / Median, or false if the median is not positive.
func (d Dispersion) SpreadRatio() (float64, bool) {
	if d.Median <= 0 {
		return 0, false
	}
	return float64(d.Spread) / float64(d.Median), true
}

// intervalFrom is the number of times from which their range contains the median with more than 95 % confidence; with
// five it is 93.75 %.
const intervalFrom = 6

// nominal is the confidence that MedianInterval aims at. The possible values are far apart for small n, so the nearest
// is used instead of the next higher: for n = 8 that is 93.0 %, not 99.2 % with an interval as wide as all times.
const nominal = 0.95

// MedianInterval returns the interval from the k-th smallest to the k-th largest time, with the k for which it contains
// the true median with a confidence nearest to 95 %. confidence is the exact one. It assumes that the times are
// independent, and nothing about their distribution. It returns false with fewer than 6 times. (David and Nagaraja,
// Order Statistics, section 7.1.)
func MedianInterval(xs []time.Duration) (lo, hi time.Duration, confidence float64, ok bool) {
	n := len(xs)
	if n < intervalFrom {
		return 0, 0, 0, false
	}
	k, confidence := intervalRank(n)
	sorted := slices.Sorted(slices.Values(xs))
	return sorted[k-1], sorted[n-k], confidence, true
}

// intervalRank returns k: [x(k), x(n+1-k)] misses the median if fewer than k of n fair coins show heads, or fewer than
// k show tails.
func intervalRank(n int) (k int, confidence float64) {
	tail := 0.0
	for i := 0; 2*(i+1) <= n; i++ {
		tail += coins(n, i)
		c := 1 - 2*tail
		if i > 0 && math.Abs(c-nominal) > math.Abs(confidence-nominal) {
			break
		}
		k, confidence = i+1, c
	}
	return k, confidence
}

// coins returns the probability of i heads among n fair coins. It uses logarithms because 2^-n underflows from n = 1075
// on.
func coins(n, i int) float64 {
	return math.Exp(logFactorial(n) - logFactorial(i) - logFactorial(n-i) - float64(n)*math.Ln2)
}

func logFactorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}

// buffer holds the usual number of repeats, so that sorting allocates nothing: the rule decides after every run.
type buffer [32]time.Duration

func (b *buffer) sort(xs []time.Duration) []time.Duration {
	sorted := append(b[:0], xs...)
	slices.Sort(sorted)
	return sorted
}

// middle returns the median of sorted times.
func middle(sorted []time.Duration) time.Duration {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	low, high := sorted[n/2-1], sorted[n/2]
	return low + (high-low)/2 // rounds down, and cannot overflow for times of one sign
}

// spreadAround returns the median of the distances to center.
func spreadAround(sorted []time.Duration, center time.Duration) time.Duration {
	var scratch buffer
	distances := append(scratch[:0], sorted...)
	for i, x := range distances {
		distances[i] = max(x-center, center-x)
	}
	slices.Sort(distances)
	return middle(distances)
}
