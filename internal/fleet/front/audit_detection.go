package front

import (
	"math"
	"slices"
	"time"
)

const (
	// leastThreshold is a difference that changes only verdicts that are repeated anyway.
	leastThreshold = 0.01
	// Equal hosts differ slightly. Without this allowance, a pool whose hosts differ by 0.3 % retires one every few
	// days.
	spreads = 3
	// standardErrors is how far beyond the threshold an effect must be, in standard errors. The window has as many
	// pairs as make that distance half of the threshold, within the limits below: more pairs would delay the detection,
	// fewer would make it blind.
	standardErrors = 4
	leastPairs     = 15 // of each host, on average
	mostPairs      = 100
	// Half and a quarter of the window show a large effect earlier. Their standard errors are estimated from fewer
	// pairs, so more of them are required.
	shortErrors = 5
	fewestPairs = 4
	// leastHosts is how many hosts must be compared before one of them can count as deviating.
	leastHosts = 3
)

// detection is the result of one run of the detector.
type detection struct {
	At        time.Time `json:"at"`
	Fit       pairFit   `json:"fit"`
	Threshold float64   `json:"threshold_log"`
	Pairs     int       `json:"pairs"`     // in the window
	Deviating []string  `json:"deviating"` // in this run
	Suspects  []string  `json:"suspects"`  // deviating in the previous run too
}

// detectHosts compares the hosts of a pool by their audits, oldest first, and reports which of them deviate. A host becomes
// a suspect if it deviates in two consecutive runs: previous is the result of the previous run.
func detectHosts(at time.Time, pairs []pair, previous detection) detection {
	r := detection{At: at, Deviating: []string{}, Suspects: []string{}}
	hosts := len(newGraph(pairs).names)
	long := last(pairs, hosts*mostPairs)
	all := fitPairs(long)
	r.Threshold = max(leastThreshold, spreads*all.Spread)
	ends := math.Pow(2*standardErrors*all.Noise/r.Threshold, 2) // each pair has two ends
	perHost := max(leastPairs, min(int(math.Ceil(ends/2)), mostPairs))
	window := last(long, hosts*perHost)
	r.Pairs, r.Fit = len(window), fitPairs(window)
	if len(r.Fit.Hosts) < leastHosts || r.Pairs < len(r.Fit.Hosts)*leastPairs {
		return r
	}
	found := r.Fit.beyond(r.Threshold, standardErrors)
	for n := hosts * perHost / 2; n >= hosts*fewestPairs; n /= 2 {
		found = append(found, fitPairs(last(window, n)).beyond(r.Threshold, shortErrors)...)
	}
	slices.Sort(found)
	r.Deviating = append(r.Deviating, slices.Compact(found)...)
	for _, name := range r.Deviating {
		if slices.Contains(previous.Deviating, name) {
			r.Suspects = append(r.Suspects, name)
		}
	}
	return r
}

// beyond returns the hosts whose effect exceeds the threshold by the given number of standard errors.
func (f pairFit) beyond(threshold, errors float64) (names []string) {
	for _, h := range f.Hosts {
		if math.Abs(h.Effect)-threshold > errors*h.StandardError {
			names = append(names, h.Name)
		}
	}
	return names
}

func last(pairs []pair, n int) []pair { return pairs[max(0, len(pairs)-n):] }

const (
	// confirmHosts is the number of other hosts that a suspect is compared with, and confirmPairs the number of
	// comparisons with each.
	confirmHosts = 3
	confirmPairs = 40
	// confirmErrors is smaller than standardErrors: the detector tests many hosts every hour, this tests one.
	confirmErrors = 2
)

// confirmHost reports whether the pairs of a suspect with other hosts show that it deviates by more than threshold from at
// least two of them, and in the same direction from all. effect is the median of the effects. Pairs of other hosts are
// ignored.
func confirmHost(suspect string, pairs []pair, threshold float64) (effect float64, confirmed bool) {
	against := map[string][]float64{}
	for _, p := range pairs {
		switch suspect {
		case p.B:
			against[p.A] = append(against[p.A], p.LogRatio)
		case p.A:
			against[p.B] = append(against[p.B], -p.LogRatio)
		}
	}
	var effects []float64
	beyond := 0
	for _, ratios := range against {
		if len(ratios) < confirmPairs/2 {
			continue
		}
		center, failure := medianAndError(ratios)
		effects = append(effects, center)
		if math.Abs(center)-threshold > confirmErrors*failure {
			beyond++
		}
	}
	if len(effects) < min(2, confirmHosts) {
		return 0, false
	}
	slices.Sort(effects)
	sameSide := effects[0] > 0 || effects[len(effects)-1] < 0
	return effects[len(effects)/2], sameSide && beyond >= 2
}

// medianAndError returns the median of xs and its standard error, which is √(π/2) times that of a mean.
func medianAndError(xs []float64) (center, failure float64) {
	xs = slices.Clone(xs)
	center = median(xs)
	for i := range xs {
		xs[i] = math.Abs(xs[i] - center)
	}
	sigma := max(madToSigma*median(xs), leastNoise)
	return center, math.Sqrt(math.Pi/2) * sigma / math.Sqrt(float64(len(xs)))
}
