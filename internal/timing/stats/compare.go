package stats

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Comparison describes by how much the times of b are longer than those of a: the median of all differences between a
// time of b and a time of a, and of all quotients. The intervals contain the true shift with Confidence. They assume
// that the times are independent and that both distributions have the same shape.
type Comparison struct {
	Shift, ShiftLow, ShiftHigh time.Duration
	Ratio, RatioLow, RatioHigh float64 // of b to a; zero if a time of a is not positive
	Confidence                 float64 // smallest possible one that is at least 0.95
	P                          float64 // two-sided p-value
}

// Compare compares the times of b with those of a. The estimates and their intervals are those of Hodges and Lehmann
// (1963, Estimates of location based on rank tests; Hollander and Wolfe, Nonparametric Statistical Methods, sections
// 4.2 and 4.3), the test is that of Mann and Whitney (1947). It returns false if there are too few times for a
// confidence of 95 %: four on each side suffice. It sorts all differences: a million with a thousand times on each
// side.
func Compare(a, b []time.Duration) (Comparison, bool) {
	if len(a) == 0 || len(b) == 0 {
		return Comparison{}, false
	}
	k, confidence := shiftRank(len(a), len(b))
	if k == 0 {
		return Comparison{}, false
	}
	c := Comparison{Confidence: confidence, P: mannWhitney(a, b)}
	differences := pairs(a, b, func(x, y time.Duration) time.Duration { return y - x })
	c.ShiftLow, c.ShiftHigh = differences[k-1], differences[len(differences)-k]
	c.Shift = middle(differences)
	if slices.Min(a) > 0 {
		quotients := pairs(a, b, func(x, y time.Duration) float64 { return float64(y) / float64(x) })
		c.RatioLow, c.RatioHigh = quotients[k-1], quotients[len(quotients)-k]
		n := len(quotients)
		c.Ratio = (quotients[(n-1)/2] + quotients[n/2]) / 2
	}
	return c, true
}

// pairs returns f of every pair, sorted.
func pairs[T cmp.Ordered](a, b []time.Duration, f func(x, y time.Duration) T) []T {
	all := make([]T, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, f(x, y))
		}
	}
	slices.Sort(all)
	return all
}

// shiftRank returns the largest k for which [d(k), d(mn+1-k)] of the mn sorted differences has enough confidence: the
// interval misses the true shift if, after subtracting the shift, fewer than k pairs are in one of the two orders. k is
// 0 if no interval has enough.
func shiftRank(m, n int) (k int, confidence float64) {
	p := separations(m, n)
	for c := 1 - 2*p(0); c >= nominal; c -= 2 * p(k) {
		k, confidence = k+1, c
	}
	return k, confidence
}

// exactUpTo is the total number of times on both sides up to which p-values are exact. Above it, the error of the
// normal approximation is below 0.003.
const exactUpTo = 60

// mannWhitney returns the two-sided p-value of the rank sum test. Ties have their mean rank: up to exactUpTo times the
// p-value is exact with ties too, above that they reduce the variance (Lehmann, Nonparametrics, section 1.4).
func mannWhitney(a, b []time.Duration) float64 {
	m, n := len(a), len(b)
	ranks, sum, ties := midranks(a, b)
	// All in halves: twice the rank sum of b, and its mean.
	off := abs(sum - n*(m+n+1))
	if m+n > exactUpTo {
		return farByNormal(m, n, ties, off)
	}
	return farByCount(ranks, n, off)
}

// farByCount returns the fraction of all choices of n ranks whose sum differs from the mean by at least off.
func farByCount(ranks []int, n, off int) float64 {
	far, all := 0.0, 0.0
	for s, w := range rankSums(ranks, n) {
		all += w
		if abs(s-n*(len(ranks)+1)) >= off {
			far += w
		}
	}
	return far / all
}

// farByNormal approximates farByCount for many ranks.
func farByNormal(m, n, ties, off int) float64 {
	variance := rankSumVariance(m, n, ties)
	if off == 0 || variance <= 0 {
		return 1
	}
	// Half a rank is the continuity correction.
	return math.Erfc((float64(off)/2 - 0.5) / math.Sqrt(2*variance))
}

func rankSumVariance(m, n, ties int) float64 {
	total := float64(m + n)
	return float64(m) * float64(n) / 12 * (total + 1 - float64(ties)/(total*(total-1)))
}

// midranks returns twice the ranks of all times, so that the mean rank of ties is an integer; twice the rank sum of b;
// and the sum of t³-t over all sets of t ties.
func midranks(a, b []time.Duration) (ranks []int, sum, ties int) {
	all := slices.Concat(a, b)
	slices.Sort(all)
	rankOf := map[time.Duration]int{}
	for first := 0; first < len(all); {
		last := first
		for last+1 < len(all) && all[last+1] == all[first] {
			last++
		}
		t := last - first + 1
		ties += t*t*t - t
		rankOf[all[first]] = first + last + 2
		first = last + 1
	}
	for _, x := range all {
		ranks = append(ranks, rankOf[x])
	}
	for _, y := range b {
		sum += rankOf[y]
	}
	return ranks, sum, ties
}

// rankSums returns for every s in how many ways n of the ranks sum to s: the distribution of the rank sum if there is
// no difference.
func rankSums(ranks []int, n int) []float64 {
	most := 0
	for _, r := range ranks {
		most += r
	}
	ways := make([][]float64, n+1) // by the number of chosen ranks, and by their sum
	for i := range ways {
		ways[i] = make([]float64, most+1)
	}
	ways[0][0] = 1
	reached := 0 // the largest sum so far
	for j, r := range ranks {
		reached += r
		for i := min(n, j+1); i >= 1; i-- {
			for s := reached; s >= r; s-- {
				ways[i][s] += ways[i-1][s-r]
			}
		}
	}
	return ways[n]
}

// separations returns the distribution of the number of pairs in which the time of a is longer, if there is no
// difference and there are no ties.
func separations(m, n int) func(u int) float64 {
	if m+n > exactUpTo {
		return separationsByNormal(m, n)
	}
	return separationsByCount(m, n)
}

func separationsByNormal(m, n int) func(u int) float64 {
	mean := float64(m) * float64(n) / 2
	sigma := math.Sqrt(mean / 6 * float64(m+n+1))
	below := func(x float64) float64 { return math.Erfc((mean-x)/(sigma*math.Sqrt2)) / 2 }
	return func(u int) float64 { return below(float64(u)+0.5) - below(float64(u)-0.5) }
}

func separationsByCount(m, n int) func(u int) float64 {
	ranks := make([]int, m+n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	ways := rankSums(ranks, n)
	all := 0.0
	for _, w := range ways {
		all += w
	}
	least := n * (n + 1) / 2
	return func(u int) float64 { return ways[least+u] / all }
}

func abs(n int) int { return max(n, -n) }
