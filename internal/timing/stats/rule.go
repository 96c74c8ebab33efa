package stats

import (
	"math"
	"time"

	"judged/internal/api"
)

// The order statistics that decide.
const (
	StatSingle    = "single"
	StatMedian    = "median"
	StatSecondMin = "second_min"
	StatMin       = "min"
)

// The number of runs that decide under policy confirm. Disturbances only add time, so two runs within the limit
// outweigh three over it.
const (
	quorumRuns   = 2
	clearRuns    = 2
	majorityRuns = 4
)

// A run is stopped beyond the limit by stopRatio of it, but at least by leastBeyond and two guard bands, so that a time
// just over the limit is measured instead of cut off. A time over the limit by farRatio is far over it. One such run
// decides, so the distance must be more than undetected noise adds. With 0.10, a noisy machine finds 1.6 times as many
// programs falsely over the limit (TestPolicies).
const (
	stopRatio   = 0.30
	farRatio    = 0.30
	leastBeyond = 100 * time.Millisecond
)

// farOfStop is the fraction of the distance from the limit to the stop from which a time is far over the limit. It is
// below 1 because the evidence is read again after the stop, and the time that it explains may have grown by a tick.
const farOfStop = 0.9

// Repeats are noisy if their spread exceeds both: below 10 ms the ratio is insignificant, above a second 10 ms are.
const (
	noisySpread = 10 * time.Millisecond
	noisyRatio  = 0.05
)

// Rule decides how often a test is run and whether its time is over the limit.
//
// Min and Max count the runs that are not discarded. If they are equal and positive the number of runs is fixed and
// their median decides (under policy min the fastest). If both are zero the policy decides: confirm makes 1 to 5 runs,
// single 1, min 1 to 3. Otherwise at least Min and at most Max runs are made; a Max below Min counts as Min. Policy
// single stops at Min. An unknown policy counts as confirm.
type Rule struct {
	Policy   api.Policy
	Limit    time.Duration // a time equal to it is within the limit; 0 and below mean no limit
	Guard    Guard
	Min, Max int
}

// Run is the CPU time of a run and the possible effect of noise on it.
type Run struct {
	CPUTime   time.Duration
	Explained time.Duration // the most that noise can have added to CPUTime
	Measured  time.Duration // the measured part of Explained, which is not only a bound
	Saved     time.Duration // time that noise saved: the CPU was faster than planned
	Void      bool          // noise explains how the run ended, so its time proves nothing
}

func (r Run) unexplained() time.Duration { return r.CPUTime - r.Explained }

// Decision is the result of the runs so far. Until Done, only Next is set; after that, everything except Next. Over
// equals Value > Limit.
type Decision struct {
	Done       bool
	Over       bool
	Value      time.Duration // the deciding time
	Statistic  string        // how Value was computed: single, median, second_min, min
	DecidedBy  string        // first, fixed, quorum, clear, majority, budget
	Confidence api.Confidence
	Next       Placement // of the next run
}

// Placement is the requested placement of a run that confirms another. The evidence of a run shows neither condition: a
// busy cache lengthens CPU time without a trace, and a core that has become slow lengthens all its runs. The run counts
// even if the host cannot satisfy the request.
type Placement struct {
	Quiet     bool // no other slot with the same last-level cache or NUMA node is busy
	OtherCore bool // not on the core of the first two runs
}

// Margin returns how far value is below the limit, as a fraction of the limit; it is negative if value is over the
// limit, and 0 without a limit.
func (r Rule) Margin(value time.Duration) float64 {
	if r.Limit <= 0 {
		return 0
	}
	return float64(r.Limit-value) / float64(r.Limit)
}

// InGuardBand reports whether value is so close to the limit that one run proves nothing.
func (r Rule) InGuardBand(value time.Duration) bool {
	r = r.resolved()
	return sample{limit: r.Limit, guard: r.Band()}.inBand(value)
}

// Band returns the half width of the guard band around the limit, or 0 without a limit.
func (r Rule) Band() time.Duration { return r.Guard.width(r.resolved().Limit) }

// StopAt returns the CPU time at which a run is stopped, not counting time that noise explains.
func (r Rule) StopAt() time.Duration {
	limit := r.resolved().Limit
	beyond := max(time.Duration(stopRatio*float64(limit)), 2*r.Band(), leastBeyond)
	return limit + min(beyond, math.MaxInt64-limit)
}

// far returns the CPU time from which a single run is clearly over the limit, not counting time that noise explains.
func (r Rule) far() time.Duration {
	stop := float64(r.StopAt() - r.Limit)
	beyond := min(farOfStop*stop, max(farRatio*float64(r.Limit), 2*float64(r.Band())))
	return r.Limit + time.Duration(beyond)
}

// Decide decides from the runs that count, in the order in which they were made. With the maximum number of runs it is
// always Done, without runs never.
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
	case r.Policy == api.Minimum:
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

// resolved returns the rule with the defaults of the policy, so that 1 <= Min <= Max.
func (r Rule) resolved() Rule {
	if r.Limit <= 0 {
		r.Limit = math.MaxInt64
	}
	if r.Min <= 0 && r.Max <= 0 {
		r.Max = 5
		if r.Policy == api.Minimum {
			r.Max = 3
		}
	}
	r.Min = max(r.Min, 1)
	r.Max = max(r.Min, r.Max)
	if r.Policy == api.Single {
		r.Max = r.Min
	}
	return r
}

// otherCoreFrom is the number of the first run that is requested on another core.
const otherCoreFrom = 3

// next returns the placement of the next run. It requests nothing if there is nothing to confirm: a fixed number of
// runs measures the slot, and while all runs are within the limit a different placement cannot change the verdict.
func (r Rule) next(s sample) Placement {
	if r.Min == r.Max || s.over() == 0 {
		return Placement{}
	}
	return Placement{Quiet: true, OtherCore: len(s.sorted)+1 >= otherCoreFrom}
}

// fixed decides with a fixed number of runs.
func (r Rule) fixed(n int) (statistic, by string) {
	switch {
	case r.Policy == api.Minimum:
		return StatMin, api.ByFixed
	case n == 1 && r.Policy == api.Single:
		return StatSingle, api.ByFirst
	case n == 1:
		return StatSingle, api.ByFixed
	default:
		return StatMedian, api.ByFixed
	}
}

// minimum accepts as soon as any run is within the limit.
func (r Rule) minimum(s sample) (statistic, by string) {
	switch n := len(s.sorted); {
	case s.within() > 0 && n == 1:
		return StatMin, api.ByFirst
	case s.within() > 0:
		return StatMin, api.ByQuorum
	case n >= r.Max:
		return StatMin, api.ByBudget
	}
	return "", ""
}

// confirm decides under policy confirm. The statistic of each case is on the side of the limit for which the case
// decides: with two runs within the limit the second smallest is within, with at most one it is over.
func (r Rule) confirm(s sample) (statistic, by string) {
	n, within, over := len(s.sorted), s.within(), s.over()
	switch {
	case n == 1 && within == 1:
		return StatSingle, api.ByFirst
	case within >= quorumRuns:
		return StatSecondMin, api.ByQuorum
	case within == 0 && s.far > 0 && n == 1:
		return StatSingle, api.ByClear
	case within == 0 && (s.beyond >= clearRuns || s.far > 0):
		return StatMedian, api.ByClear
	case over >= majorityRuns:
		return StatSecondMin, api.ByMajority
	case n >= r.Max && over > within:
		return StatSecondMin, api.ByBudget
	case n >= r.Max: // one run within and one over: a tie favours the contestant
		return StatMin, api.ByBudget
	}
	return "", ""
}
