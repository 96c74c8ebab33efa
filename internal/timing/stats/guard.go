package stats

import (
	"math"
	"time"
)

// Guard is the half width of the band around a limit within which one run proves nothing.
type Guard struct {
	Ratio   float64       `json:"ratio"`    // as a fraction of the limit
	Floor   time.Duration `json:"floor_ns"` // minimum: the start of a program is never free of noise
	Learned bool          `json:"learned"`  // Ratio was learned from a pool and is greater than the default
}

// DefaultGuard returns the guard of a pool without readings.
func DefaultGuard() Guard { return Guard{Ratio: 0.02, Floor: 5 * time.Millisecond} }

const (
	// GuardFrom is the number of times that Learn needs: the extremes of 93 times enclose 95 % of the distribution with
	// a confidence of 95 %.
	GuardFrom = 93
	// mostGuard is the width above which a wider band hardly helps. In the simulation of the rule, 10 % avoid two of
	// three false time verdicts that remain with 2 %, and 20 % avoid almost none of the rest (TestWidestGuard), while
	// every program over the limit within the band is run at least four times.
	mostGuard = 0.10
)

// Learn returns the guard of a pool in which undisturbed programs took these times, each divided by the usual time of
// that program. As in a Baseline, it covers three sigma and 95 % of the times, and it never decreases. With fewer than
// GuardFrom times, nothing changes.
//
// Pass the same number of times for several kinds of programs: it is unknown what a solution spends its time on, and a
// band for the worst kind alone would be too wide for most.
func (g Guard) Learn(relative []float64) Guard {
	if len(relative) < GuardFrom {
		return g
	}
	times := make([]time.Duration, len(relative))
	for i, x := range relative {
		times[i] = time.Duration(x * float64(time.Second)) // a resolution of 1e-9 is enough
	}
	if ratio := min(LearnBaseline(times).Guard, mostGuard); ratio > g.Ratio {
		g.Ratio, g.Learned = ratio, true
	}
	return g
}

// width returns the half width around a limit, small enough to be added to it.
func (g Guard) width(limit time.Duration) time.Duration {
	room := math.MaxInt64 - limit
	floor := max(g.Floor, 0)
	relative := float64(limit) * g.Ratio // NaN compares false below, so the floor applies
	switch {
	case relative >= float64(room):
		return room
	case relative > float64(floor):
		return time.Duration(relative)
	default:
		return min(floor, room)
	}
}
