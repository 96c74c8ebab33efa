package evidence

import (
	"math"
	"time"

	"judged/internal/api"
)

// Limits of what noise adds, in addition to those in Thresholds.
const (
	// [M] A sieve in the L2 cache takes 8 % longer when it shares its CPU evenly with a program that copies memory,
	// an arithmetic loop 1 %: the other program evicts its cache lines. More time of the other program does not evict
	// more.
	pollutionRatio = 0.1
	// [E] Published figures are tens to hundreds of microseconds.
	smiTime = 500 * time.Microsecond
)

// Explain computes the most that noise can have added to the CPU time and the wall time of a run. Only causes that no
// program can produce by itself count, and only beyond the threshold from which they count as a disturbance. Time
// limits are not considered.
//
//   - Other programs on the slot's CPUs add wall time as far as the run waited for them: their time in user mode and,
//     if it is known separately from that of the kernel's threads, in kernel mode. The hypervisor adds all stolen
//     time. To CPU time they add the cost of evicted cache lines.
//   - Stolen time is part of the CPU time only if the kernel counts it there. Then CPU time, foreign time and stolen
//     time together exceed the wall time.
//   - A quota above the run adds wall time only.
//   - A lower frequency than planned adds a known part.
//   - Neighbours add at most what they add to reference kernels in memory (Thresholds.Neighbours), for the part of the
//     run in which they were busy.
func Explain(e api.Evidence, f Facts, th Thresholds) api.Explained {
	j := judgement{e, f, th, float64(max(f.Width, 1))}
	var x api.Explained
	if others := value(e.ForeignUserTime) + value(e.ForeignSystemTime); th.Foreign.exceeded(others, j.slotTime()) {
		x.Add(api.CauseForeign, j.pollution(others), min(value(e.Waited), others)+j.pollution(others))
	}
	if stolen := value(e.StealTime); stolen >= time.Duration(th.StealTicks)*tick {
		x.Add(api.CauseSteal, j.stolenWithin(stolen)+j.pollution(stolen), stolen+tick+j.pollution(stolen))
	}
	if stopped := min(value(e.ThrottledTime), f.WallTime); th.Wait.exceeded(stopped, f.WallTime) {
		x.Add(api.CauseThrottle, 0, stopped)
	}
	if off := th.Frequency.off(e.FrequencyRatio); off < -th.Frequency.Slack && f.CPUTime >= th.Frequency.MinCPU {
		slower := time.Duration(-off * float64(f.CPUTime))
		x.Add(api.CauseFrequency, slower, slower)
	}
	if n := value(e.SMIs); th.SMI.exceeded(n, j.slotTime()) {
		x.Add(api.CauseSMI, time.Duration(n)*smiTime, time.Duration(n)*smiTime)
	}
	if busy := value(e.NeighboursBusy); busy > th.Neighbours.Busy {
		slower := partOf(f.CPUTime, th.Neighbours.Cost*busy)
		x.Add(api.CauseNeighbours, slower, slower)
	}
	return x
}

// ExplainDeviation adds a bound for a run next to which a reference kernel took longer than usual by a ratio. Some
// kernels are far more sensitive to neighbours than any solution, so the bound is at most that of neighbours.
func ExplainDeviation(x *api.Explained, cpuTime time.Duration, ratio float64, th Thresholds) {
	slower := partOf(cpuTime, min(ratio, th.Neighbours.Cost))
	x.Add(api.CauseCanary, slower, slower)
}

// FrequencyGain returns the CPU time that a run saved because the frequency was higher than planned, the only
// disturbance that shortens times.
func FrequencyGain(e api.Evidence, cpuTime time.Duration, th Thresholds) time.Duration {
	if off := th.Frequency.off(e.FrequencyRatio); off > th.Frequency.Slack && cpuTime >= th.Frequency.MinCPU {
		return time.Duration(off * float64(cpuTime))
	}
	return 0
}

// partOf returns the part of d that was added, if d is longer by ratio than it would have been.
func partOf(d time.Duration, ratio float64) time.Duration {
	return time.Duration(math.Round(float64(d) * ratio / (1 + ratio)))
}

// pollution returns the CPU time that evicted cache lines cost a run while others used its CPU for the given time.
func (j judgement) pollution(others time.Duration) time.Duration {
	return time.Duration(pollutionRatio * float64(min(others, j.f.CPUTime)))
}

// stolenWithin returns how much stolen time the run's CPU time can include.
func (j judgement) stolenWithin(stolen time.Duration) time.Duration {
	together := j.f.CPUTime + value(j.e.ForeignTime) + stolen
	return min(max(together-j.slotTime(), 0), stolen)
}
