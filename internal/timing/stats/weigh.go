package stats

import (
	"math"
	"slices"
	"time"

	"judged/internal/api"
)

const (
	// moreRuns is how many more runs than on a quiet host a test costs at most. Noise that this many repeats do not
	// settle is not temporary.
	moreRuns = 3
	// agreeAt is the maximum probability, assuming that noise had added to all runs over the limit, of their agreement
	// for them to count. With 0.01, nearly twice as many programs close below the limit are falsely found over it
	// (TestLoad).
	agreeAt = 0.005
)

// Weighed is the result of weighing all runs of a test.
type Weighed struct {
	Decision
	Kept      []bool // runs that count; if the number of runs is fixed, all that are not void
	Undecided bool   // more runs will not bring a decision: noise explains the runs over the limit
}

// Weigh decides from all runs of a test, in the order in which they were made. A run is set aside if noise may explain
// on which side of the limit it is. It counts again if the others show that noise does not explain it: noise only adds
// time, and a different amount each time, so runs over the limit that agree closely are not explained by noise (agree).
//
// It ends at most moreRuns runs after the number that the rule would need if noise explained none of them, so no one
// can get more runs than that.
func (r Rule) Weigh(runs []Run) Weighed {
	plain := make([]Run, len(runs)) // as on a quiet host
	kept := make([]bool, len(runs))
	var counting []Run
	doubted := 0
	for i, run := range runs {
		plain[i] = Run{CPUTime: run.CPUTime}
		if kept[i] = r.isFixed() && !run.Void || !r.doubts(run); kept[i] {
			counting = append(counting, run)
		} else {
			doubted++
		}
	}
	w := Weighed{Decision: r.Decide(counting), Kept: kept}
	if w.Done {
		return w
	}
	if doubted > 0 && r.agree(runs) {
		for i := range kept {
			kept[i] = true
		}
		w.Decision = r.Decide(plain)
	}
	if !w.Done && len(runs) >= r.quietRuns(plain)+moreRuns {
		return r.settle(runs, w)
	}
	// After one run set aside, no other slot may be busy; after two, the run is also on another core. A fixed number of runs
	// measures the slot.
	if !w.Done && doubted > 0 && !r.isFixed() {
		w.Next = Placement{Quiet: true, OtherCore: w.Next.OtherCore || doubted > 1}
	}
	return w
}

// settle ends a test with persistent noise. A run within the limit counts even if noise shortened it, because the
// program gets the benefit of the doubt. If a run is over the limit regardless of what noise added to it, the others
// over the limit count as well.
func (r Rule) settle(runs []Run, w Weighed) Weighed {
	proven := false
	for i, run := range runs {
		proven = proven || w.Kept[i] && run.CPUTime > r.Limit
	}
	var plain []Run
	for i, run := range runs {
		if w.Kept[i] = !run.Void && (proven || run.CPUTime <= r.Limit); w.Kept[i] {
			plain = append(plain, Run{CPUTime: run.CPUTime})
		}
	}
	if w.Undecided = len(plain) == 0; w.Undecided {
		return w
	}
	r.Min, r.Max = 1, len(plain)
	w.Decision = r.Decide(plain)
	w.DecidedBy, w.Confidence = api.ByBudget, api.Noisy
	return w
}

// doubts reports whether noise may explain on which side of the limit a run is.
func (r Rule) doubts(run Run) bool {
	limit := r.resolved().Limit
	switch {
	case run.Void:
		return true
	case run.CPUTime > limit:
		return run.unexplained() <= limit
	default:
		return run.Saved > limit-run.CPUTime
	}
}

// agree reports whether the runs agree so closely that noise does not explain why all of them are over the limit.
//
// If the program itself needs no more than the limit, noise added to each run everything by which it is over the limit.
// Assume that the amount that noise adds to a run is uniformly distributed between zero and some maximum, which depends
// on the program and the load and is unknown. Given the largest of n additions, all are within a fraction p of it with
// probability p^(n-1). If noise can only have added less than its bound, agreement is even less probable.
//
// [M] Noise behaves like that: for four consecutive runs next to 1 to 8 loops on the same CPU, or to a neighbour that
// counts or copies memory, the median of p was between 0.36 and 0.99 (computed: 0.61), and the smallest 0.15.
//
// Measured noise may be the same in every run, so it does not count as an unknown addition. Stolen time is measured in
// ticks, so runs that agree before it is subtracted count as agreeing too.
func (r Rule) agree(runs []Run) bool {
	if len(runs) < 2 {
		return false
	}
	var taken, rest []time.Duration
	for _, run := range runs {
		x := run.CPUTime - run.Measured
		if run.Void || x <= r.Limit {
			return false
		}
		taken, rest = append(taken, run.CPUTime), append(rest, x)
	}
	spread := min(slices.Max(taken)-slices.Min(taken), slices.Max(rest)-slices.Min(rest))
	part := float64(spread) / float64(slices.Max(rest)-r.Limit)
	return math.Pow(part, float64(len(runs)-1)) <= agreeAt
}

// quietRuns returns the number of runs after which the rule would have decided if noise explained nothing.
func (r Rule) quietRuns(plain []Run) int {
	for n := max(r.Min, 1); n <= len(plain); n++ {
		if r.Decide(plain[:n]).Done {
			return n
		}
	}
	return len(plain)
}

func (r Rule) isFixed() bool { return r.Min > 0 && r.Min == r.Max }
