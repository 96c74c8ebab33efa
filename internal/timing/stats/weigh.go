package stats

import (
	"math"
	"slices"
	"time"

	"judged/internal/api"
)

const (
	// moreRuns is how many runs more than on a quiet host a test costs at most. What as many repeats do not settle is not
	// noise that passes.
	moreRuns = 3
	// agreeAt is how probable the agreement of runs over the limit may be if noise had added to all of them, for them to
	// count. With 0.01, nearly twice as many programs close below the limit are falsely found over it (TestLoad).
	agreeAt = 0.005
)

// Weighed is what all runs of a test prove together.
type Weighed struct {
	Decision
	Kept      []bool // the runs that count; of a fixed number of runs all do
	Undecided bool   // there is no decision, and more runs will not bring one: noise explains the runs over the limit
}

// Weigh decides from all runs of a test, in the order in which they were made. A run is set aside if noise may explain on
// which side of the limit it is, and counts again if the others show that noise does not: noise only adds, and not the same
// amount every time, so runs over the limit that agree closely owe it to no noise (agree).
//
// It ends at most moreRuns runs after the number that the rule needs if noise explains none of them, so nobody can get more
// runs than that.
func (r Rule) Weigh(runs []Run) Weighed {
	plain := make([]Run, len(runs)) // as they would be seen on a quiet host
	kept := make([]bool, len(runs))
	var counting []Run
	doubted := 0
	for i, run := range runs {
		plain[i] = Run{CPUTime: run.CPUTime}
		if kept[i] = r.isFixed() || !r.doubts(run); kept[i] {
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
	// After one run set aside no other slot may be busy, after two it is also on another core.
	if !w.Done && doubted > 0 {
		w.Next = Placement{Quiet: true, OtherCore: w.Next.OtherCore || doubted > 1}
	}
	return w
}

// settle ends a test whose noise does not pass. A run within the limit counts whatever noise took off, because the doubt is
// in favour of the program. If a run is over the limit whatever noise added to it, the others over the limit count as well.
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
// If the program itself needs no more than the limit, noise added to each run all by which it is over the limit. Let what it
// adds to a run be anything from nothing to some amount, which depends on the program and the load and is unknown, each as
// probable. Given the largest of n additions, all are within a part p of it with probability p^(n-1). A program for which
// noise can have added less than its bound makes agreement less probable still.
//
// [M] Noise is like that: of four runs in sequence next to 1 to 8 loops on the same CPU, or to a neighbour that counts or
// copies memory, the median of p was between 0.36 and 0.99 (computed: 0.61), and the smallest 0.15.
//
// Noise that was measured may be the same in every run, so it does not count as what the rest must have added. Stolen time
// is measured in ticks, so runs that agree before it is subtracted agree as well.
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

// quietRuns is the number of runs after which the rule would have decided if noise explained nothing.
func (r Rule) quietRuns(plain []Run) int {
	for n := max(r.Min, 1); n <= len(plain); n++ {
		if r.Decide(plain[:n]).Done {
			return n
		}
	}
	return len(plain)
}

func (r Rule) isFixed() bool { return r.Min > 0 && r.Min == r.Max }
