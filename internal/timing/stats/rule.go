package stats

import (
	"math"
	"slices"
	"time"

	"judged/internal/base/job"
)

// The order statistics that a Decision rests on.
const (
	StatSingle    = "single"
	StatMedian    = "median"
	StatSecondMin = "second_min"
	StatMin       = "min"
)

// The numbers of rule R. Disturbances only ever add time, so two runs within
// the limit outweigh three over it.
const (
	quorumRuns   = 2
	clearRuns    = 2
	majorityRuns = 4
)

// A run is stopped stopRatio of the limit beyond it, at least leastBeyond, and at
// least two guard bands, so that a time just over the limit is measured and not
// cut. farRatio of the limit beyond it is far in any case. One run decides from
// there on, so it must be more than noise that nobody sees adds: with 0.10 a noisy
// machine finds 1.6 times as many programs falsely over the limit (TestPolicies).
const (
	stopRatio   = 0.30
	farRatio    = 0.30
	leastBeyond = 100 * time.Millisecond
)

// farOfStop is how much of the way to the stop a run must have gone to be far
// beyond the limit. It is not all of it: what explains a run is read once more after
// the run was stopped, and may have grown by a tick.
const farOfStop = 0.9

// Repeats differ when their spread is beyond both: below 10 ms a ratio means
// nothing, beyond a second 10 ms mean nothing.
const (
	noisySpread = 10 * time.Millisecond
	noisyRatio  = 0.05
)

// Rule says how often a test is run and when its time is over the limit.
//
// Min and Max are in clean runs. Equal and positive they are a fixed number of
// runs, of which the median decides (under policy min the fastest). Both zero
// leave it to the policy: confirm 1 to 5, single 1, min 1 to 3. Else at least
// Min and at most Max runs are made; a Max below Min counts as Min. Policy
// single stops at Min. An unknown policy is confirm.
type Rule struct {
	Policy   job.Policy
	Limit    time.Duration // a time equal to it is within; 0 and below: no limit
	Guard    Guard         // around Limit
	Min, Max int
}

// Run is the CPU time of a run that counts.
type Run struct {
	CPUTime   time.Duration
	Explained time.Duration // the most that noise can have added to CPUTime
}

func (r Run) unexplained() time.Duration { return r.CPUTime - r.Explained }

// Decision is what the runs so far say. Until Done all but Next is zero,
// afterwards Next is. Over is always the same as Value > Limit.
type Decision struct {
	Done       bool
	Over       bool
	Value      time.Duration // the deciding time
	Statistic  string        // which of the times Value is: single, median, second_min, min
	DecidedBy  string        // first, fixed, quorum, clear, majority, budget
	Confidence job.Confidence
	Next       Placement // of the next run
}

// Placement is what is asked of a run that confirms another. Neither shows in
// the evidence of a run: a busy cache lengthens CPU time and leaves no trace,
// and a core that has grown slow lengthens all its runs alike. It is a wish:
// on a host that cannot grant it the run counts all the same.
type Placement struct {
	Quiet     bool // no other slot of the same last level cache or memory node is busy
	OtherCore bool // not on the core of the first two runs
}

// Margin is how far value is within the limit, as a part of the limit: negative
// is over it. Without a limit it is 0.
func (r Rule) Margin(value time.Duration) float64 {
	if r.Limit <= 0 {
		return 0
	}
	return float64(r.Limit-value) / float64(r.Limit)
}

// InGuardBand reports whether value is too close to the limit to tell on which side of
// it the program is.
func (r Rule) InGuardBand(value time.Duration) bool {
	r = r.resolved()
	return sample{limit: r.Limit, guard: r.Band()}.inBand(value)
}

// Band is the half width of the guard band around the limit; 0 without a limit.
func (r Rule) Band() time.Duration { return r.Guard.width(r.resolved().Limit) }

// StopAt is the CPU time at which a run is stopped that noise does not explain.
func (r Rule) StopAt() time.Duration {
	limit := r.resolved().Limit
	beyond := max(time.Duration(stopRatio*float64(limit)), 2*r.Band(), leastBeyond)
	return limit + min(beyond, math.MaxInt64-limit)
}

// far is the CPU time from which on a single run that noise does not explain is
// clearly over the limit.
func (r Rule) far() time.Duration {
	stop := float64(r.StopAt() - r.Limit)
	beyond := min(farOfStop*stop, max(farRatio*float64(r.Limit), 2*float64(r.Band())))
	return r.Limit + time.Duration(beyond)
}

// Decide looks at the runs that count, in the order in which they were made, and
// says whether they decide. It is pure: the same runs give the same answer. With
// len(runs) at the rule's maximum it is always Done, without runs never.
func (r Rule) Decide(runs []Run) Decision {
	r = r.resolved()
	var scratch buffer
	s := r.sample(scratch[:0], runs)
	if len(runs) == 0 || len(runs) < r.Min {
		return Decision{Next: r.next(s)}
	}

	var statistic, by string
	switch {
	case r.Min == r.Max:
		statistic, by = r.fixed(len(runs))
	case r.Policy == job.Minimum:
		statistic, by = r.minimum(s)
	default:
		statistic, by = r.confirm(s)
	}
	if by == "" {
		return Decision{Next: r.next(s)}
	}
	value := s.at(statistic)
	return Decision{
		Done: true, Over: value > r.Limit, Value: value,
		Statistic: statistic, DecidedBy: by, Confidence: s.confidence(value),
	}
}

// resolved fills in what the policy decides. Afterwards 1 <= Min <= Max.
func (r Rule) resolved() Rule {
	if r.Limit <= 0 {
		r.Limit = math.MaxInt64
	}
	if r.Min <= 0 && r.Max <= 0 {
		r.Min, r.Max = r.own()
		return r
	}
	r.Min = max(r.Min, 1)
	r.Max = max(r.Min, r.Max)
	if r.Policy == job.Single {
		r.Max = r.Min
	}
	return r
}

// own is the policy's own number of runs.
func (r Rule) own() (least, most int) {
	switch r.Policy {
	case job.Single:
		return 1, 1
	case job.Minimum:
		return 1, 3
	default:
		return 1, 5
	}
}

// otherCoreFrom is the first run that is asked to be on another core.
const otherCoreFrom = 3

// next asks for nothing where there is nothing to confirm: a given number of
// runs is a measurement of the placement it has, and while all runs are within
// the limit more of them cannot condemn anybody.
func (r Rule) next(s sample) Placement {
	if r.Min == r.Max || s.over() == 0 {
		return Placement{}
	}
	return Placement{Quiet: true, OtherCore: len(s.sorted)+1 >= otherCoreFrom}
}

// fixed decides on a given number of runs.
func (r Rule) fixed(n int) (statistic, by string) {
	switch {
	case r.Policy == job.Minimum:
		return StatMin, job.ByFixed
	case n == 1 && r.Policy == job.Single:
		return StatSingle, job.ByFirst
	case n == 1:
		return StatSingle, job.ByFixed
	default:
		return StatMedian, job.ByFixed
	}
}

// minimum accepts as soon as any run is within the limit.
func (r Rule) minimum(s sample) (statistic, by string) {
	switch n := len(s.sorted); {
	case s.within() > 0 && n == 1:
		return StatMin, job.ByFirst
	case s.within() > 0:
		return StatMin, job.ByQuorum
	case n >= r.Max:
		return StatMin, job.ByBudget
	}
	return "", ""
}

// confirm is rule R. The statistic of every case lies on the side of the limit
// on which the case decides: with two runs within, the second smallest is
// within; with at most one, it is over.
func (r Rule) confirm(s sample) (statistic, by string) {
	n, within, over := len(s.sorted), s.within(), s.over()
	switch {
	case n == 1 && within == 1:
		return StatSingle, job.ByFirst
	case within >= quorumRuns:
		return StatSecondMin, job.ByQuorum
	case within == 0 && s.far > 0 && n == 1:
		return StatSingle, job.ByClear
	case within == 0 && (s.beyond >= clearRuns || s.far > 0):
		return StatMedian, job.ByClear
	case over >= majorityRuns:
		return StatSecondMin, job.ByMajority
	case n >= r.Max && over > within:
		return StatSecondMin, job.ByBudget
	case n >= r.Max: // one run within and one over: the tie is the contestant's
		return StatMin, job.ByBudget
	}
	return "", ""
}

// sample is the times of the runs with the limit that they are held against.
type sample struct {
	sorted []time.Duration
	limit  time.Duration
	guard  time.Duration
	beyond int // runs over the limit by more than the guard band that nothing explains
	far    int // runs so far over it that one is enough
}

// sample appends the times to sorted.
func (r Rule) sample(sorted []time.Duration, runs []Run) sample {
	s := sample{limit: r.Limit, guard: r.Band()}
	far := max(r.far(), s.limit+s.guard) // the band may reach the end of all times
	for _, run := range runs {
		sorted = append(sorted, run.CPUTime)
		if run.unexplained() > s.limit+s.guard {
			s.beyond++
		}
		if run.unexplained() > far {
			s.far++
		}
	}
	slices.Sort(sorted)
	s.sorted = sorted
	return s
}

// above counts the times larger than bound.
func (s sample) above(bound time.Duration) int {
	n := 0
	for _, x := range s.sorted {
		if x > bound {
			n++
		}
	}
	return n
}

func (s sample) over() int   { return s.above(s.limit) }
func (s sample) within() int { return len(s.sorted) - s.over() }

func (s sample) at(statistic string) time.Duration {
	switch statistic {
	case StatMedian:
		return middle(s.sorted)
	case StatSecondMin:
		return s.sorted[1]
	default:
		return s.sorted[0]
	}
}

// confidence says how far the decision by value can be trusted.
func (s sample) confidence(value time.Duration) job.Confidence {
	n := len(s.sorted)
	spread := s.sorted[n-1] - s.sorted[0]
	switch {
	case s.within() > 0 && s.over() > 0, s.inBand(value):
		return job.Borderline
	case n == 1:
		return job.OneRun
	case spread > noisySpread && float64(spread) > noisyRatio*float64(middle(s.sorted)):
		return job.Noisy
	default:
		return job.Stable
	}
}

// inBand reports whether value is too close to the limit to tell on which side
// of it the program is.
func (s sample) inBand(value time.Duration) bool {
	return value > s.limit-s.guard && value <= s.limit+s.guard
}
