package stats

import (
	"math"
	"time"
)

// Guard is the half width of the band around a limit within which one run is
// not believed.
type Guard struct {
	Ratio   float64       `json:"ratio"`    // as a part of the limit
	Floor   time.Duration `json:"floor_ns"` // at least this: starting a program is never free of noise
	Learned bool          `json:"learned"`  // Ratio is what a pool has shown, and more than what is believed beforehand
}

// DefaultGuard is believed of a pool that nothing is known of.
func DefaultGuard() Guard { return Guard{Ratio: 0.02, Floor: 5 * time.Millisecond} }

const (
	// GuardFrom is how many times Learn wants: 93 hold 95 of 100 of all times
	// between their extremes with a confidence of 95 %.
	GuardFrom = 93
	// mostGuard is where a wider band hardly helps any more: in the simulation
	// of the rule 10 % spare two of three false time verdicts that 2 % leave,
	// and 20 % next to none of the rest (TestWidestGuard), while every program
	// over the limit up to the band's end is run four times and oftener.
	mostGuard = 0.10
)

// Learn is the guard of a pool whose undisturbed programs took these times,
// each divided by what that program usually takes there. It is wide enough for
// three sigma and for 95 of 100 of them, as a Baseline's own is, and never less
// than before. Below GuardFrom times nothing changes.
//
// The times are of several programs of different kinds, as many of each: what a
// solution spends its time on is not known, and a band for the worst kind alone
// would be one for no solution.
func (g Guard) Learn(relative []float64) Guard {
	if len(relative) < GuardFrom {
		return g
	}
	times := make([]time.Duration, len(relative))
	for i, x := range relative {
		times[i] = time.Duration(x * float64(time.Second)) // a nanosecond is fine enough a part
	}
	if ratio := min(LearnBaseline(times).Guard, mostGuard); ratio > g.Ratio {
		g.Ratio, g.Learned = ratio, true
	}
	return g
}

// width is the half width around a limit, small enough to be added to it.
func (g Guard) width(limit time.Duration) time.Duration {
	room := math.MaxInt64 - limit
	floor := max(g.Floor, 0)
	relative := float64(limit) * g.Ratio // NaN compares false below, and leaves the floor
	switch {
	case relative >= float64(room):
		return room
	case relative > float64(floor):
		return time.Duration(relative)
	default:
		return min(floor, room)
	}
}
