package stats

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// madToSigma is the ratio of standard deviation and MAD of a normal distribution, 1 / Φ⁻¹(3/4) (Hampel 1974, The
// influence curve and its role in robust estimation).
const madToSigma = 1.4826

// Sigma estimates the standard deviation from the MAD, which tolerates outliers in up to half of the times. It returns
// false without a MAD.
func (d Dispersion) Sigma() (time.Duration, bool) {
	return time.Duration(madToSigma * float64(d.MAD)), d.HasMAD
}

// spreadInSigma is d2, the mean range of n standard normal values, for n from 2 (Tippett 1925; Montgomery, Introduction
// to Statistical Quality Control, appendix VI).
var spreadInSigma = [...]float64{
	1.128, 1.693, 2.059, 2.326, 2.534, 2.704, 2.847, 2.970, 3.078, 3.173, 3.258, 3.336,
	3.407, 3.472, 3.532, 3.588, 3.640, 3.689, 3.735, 3.778, 3.819, 3.858, 3.895, 3.931,
}

// SpreadSigma estimates the standard deviation from the spread. Unlike the spread, it can be compared between different
// N and with published ranges, and unlike Sigma it depends on the tail. It returns false for fewer than 2 times and for
// more than 25, for which the spread depends only on the two extreme times.
func (d Dispersion) SpreadSigma() (time.Duration, bool) {
	i := d.N - 2
	if i < 0 || i >= len(spreadInSigma) {
		return 0, false
	}
	return time.Duration(float64(d.Spread) / spreadInSigma[i]), true
}

// Quantile returns the smallest of xs that a fraction p of them does not exceed: an observed value, without
// interpolation (definition 1 of Hyndman and Fan 1996, Sample quantiles in statistical packages). It returns 0 without
// values.
func Quantile[T cmp.Ordered](xs []T, p float64) T {
	if len(xs) == 0 {
		var zero T
		return zero
	}
	sorted := slices.Sorted(slices.Values(xs))
	rank := math.Ceil(p * float64(len(sorted)))
	return sorted[min(max(int(rank), 1), len(sorted))-1]
}
