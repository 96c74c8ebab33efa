package evidence

import (
	"math"
	"time"

	"judged/internal/base/job"
)

// The bounds of what noise adds, besides those of Thresholds.
const (
	// [M] A sieve in the second level cache takes 8 % longer when it shares its CPU evenly
	// with a program that copies memory, an arithmetic loop 1 %: the other one empties the caches.
	// More of the other one's time does not empty them further.
	pollutionRatio = 0.1
	// [E] Tens to hundreds of microseconds are published.
	smiTime = 500 * time.Microsecond
)

// Explain bounds what noise can have added to a run, in CPU time and in wall time. Only
// causes count that no program can produce by itself; smaller amounts than make a run
// disturbed do not. It looks at the surroundings, and at no time limit.
//
//   - Other programs in user mode on the slot's CPUs take wall time as far as the run
//     waited for them, the hypervisor all that it stole. To CPU time they add what they
//     threw out of the caches.
//   - Stolen time is in the CPU time only where the kernel counts it there: then CPU time,
//     the others' time and the stolen time together are longer than the wall time.
//   - A quota above the run takes wall time only.
//   - A lower frequency than planned takes a known part.
//   - Neighbours take at most what they take of reference kernels in memory
//     (Thresholds.Neighbours), for the part of the run in which they were busy.
func Explain(e job.Evidence, f Facts, th Thresholds) job.Explained {
	j := judgement{e, f, th, float64(max(f.Width, 1))}
	var x job.Explained
	if user := value(e.ForeignUserTime); th.Foreign.exceeded(user, j.slotTime()) {
		x.Add(job.CauseForeign, j.pollution(user), min(j.waited(), user)+j.pollution(user))
	}
	if stolen := value(e.StealTime); stolen > 0 && stolen >= time.Duration(th.StealTicks)*tick {
		x.Add(job.CauseSteal, j.stolenWithin(stolen)+j.pollution(stolen), stolen+tick+j.pollution(stolen))
	}
	if stopped := min(value(e.ThrottledTime), f.WallTime); th.Wait.exceeded(stopped, f.WallTime) {
		x.Add(job.CauseThrottle, 0, stopped)
	}
	if off := th.Frequency.off(e.FrequencyRatio); off < -th.Frequency.Slack && f.CPUTime >= th.Frequency.MinCPU {
		slower := time.Duration(-off * float64(f.CPUTime))
		x.Add(job.CauseFrequency, slower, slower)
	}
	if n := value(e.SMIs); th.SMI.exceeded(n, j.slotTime()) {
		x.Add(job.CauseSMI, time.Duration(n)*smiTime, time.Duration(n)*smiTime)
	}
	if busy := value(e.NeighboursBusy); busy > th.Neighbours.Busy {
		slower := partOf(f.CPUTime, th.Neighbours.Cost*busy)
		x.Add(job.CauseNeighbours, slower, slower)
	}
	return x
}

// ExplainDeviation adds that a reference kernel took longer, by a ratio, right before or after the
// run. Some kernels are far more sensitive to neighbours than any solution, so the bound is
// that of neighbours.
func ExplainDeviation(x *job.Explained, cpuTime time.Duration, ratio float64, th Thresholds) {
	slower := partOf(cpuTime, min(ratio, th.Neighbours.Cost))
	x.Add(job.CauseCanary, slower, slower)
}

// FrequencyGain is the CPU time that a run would have taken more at the planned frequency: the one
// disturbance that makes a program's time shorter.
func FrequencyGain(e job.Evidence, cpuTime time.Duration, th Thresholds) time.Duration {
	if off := th.Frequency.off(e.FrequencyRatio); off > th.Frequency.Slack && cpuTime >= th.Frequency.MinCPU {
		return time.Duration(off * float64(cpuTime))
	}
	return 0
}

// partOf is what a time of which something took ratio more would be shorter without it.
func partOf(d time.Duration, ratio float64) time.Duration {
	return time.Duration(math.Round(float64(d) * ratio / (1 + ratio)))
}

// pollution is what others who had the run's CPU for so long cost it in CPU time.
func (j judgement) pollution(others time.Duration) time.Duration {
	return time.Duration(pollutionRatio * float64(min(others, j.f.CPUTime)))
}

// waited is how long the run waited for a CPU: its first thread, or any of its threads
// where the kernel counts that.
func (j judgement) waited() time.Duration { return max(value(j.e.RunDelay), value(j.e.Pressure)) }

// stolenWithin is how much of stolen time the run's CPU time can hold.
func (j judgement) stolenWithin(stolen time.Duration) time.Duration {
	together := j.f.CPUTime + value(j.e.ForeignTime) + stolen
	return min(max(together-j.slotTime(), 0), stolen)
}
