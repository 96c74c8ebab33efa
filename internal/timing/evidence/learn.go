package evidence

import (
	"math"
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
	"judged/internal/timing/stats"
)

// Observation is one run of a reference kernel.
type Observation struct {
	Evidence api.Evidence
	Facts    Facts
}

const (
	// LearnFrom is the number of observations that Learned needs. With fewer, the 99th percentile would be the largest
	// value.
	LearnFrom   = 100
	learnedPart = 0.99
	// A kernel takes a twentieth of a second, so its 99th percentile cannot measure a rate over ten seconds. The rule
	// of thumb for involuntary switches, three times the usual rate, is used for all rates. [E]
	rateSlack = 3
)

// Learned returns the thresholds after raising those that undisturbed reference kernels exceed, because every host has
// its own normal level. None becomes stricter. Pass the observations whose time was within the guard band of its
// baseline; observations selected by their causes never exceed a threshold, so nothing could be learned from them.
//
// Call it on the static thresholds with recent observations: on its own result the thresholds could only grow. With
// fewer than 100 observations, nothing changes.
//
// Floors (Share.Floor, Count.Base, StealTicks) become the 99th percentile, rates three times the mean rate. TickRate
// does not change: it is a property of the kernel.
func (th Thresholds) Learned(canaries []Observation) Thresholds {
	if len(canaries) < LearnFrom {
		return th
	}
	js := make([]judgement, len(canaries))
	for i, c := range canaries {
		js[i] = judgement{c.Evidence, c.Facts, th, float64(max(c.Facts.Width, 1))}
	}
	cpu := func(j judgement) time.Duration { return j.f.CPUTime }
	wall := func(j judgement) time.Duration { return j.f.WallTime }
	row := func(name string) func(judgement) int64 {
		return func(j judgement) int64 { return j.e.Interrupts[name] }
	}
	learned := th
	learned.Wait = th.Wait.learned(js, judgement.wait, cpu)
	learned.Foreign = th.Foreign.learned(js, judgement.foreign, judgement.slotTime)
	learned.IRQTime = th.IRQTime.learned(js, judgement.handlers, judgement.slotTime)
	learned.Preempted = th.Preempted.learned(js, judgement.preemptions, judgement.slotTime)
	learned.Device = th.Device.learned(js, row(deviceRow), judgement.slotTime)
	learned.NMI = th.NMI.learned(js, row("NMI"), judgement.slotTime)
	learned.IPI = th.IPI.learned(js, judgement.ipis, wall)
	learned.NohzTicks = th.NohzTicks.learned(js, judgement.nohzTicks, judgement.slotTime)
	learned.StealTicks = max(th.StealTicks, usual(js, judgement.stealTicks)+1)
	learned.FaultCost = th.FaultCost.learned(js)
	learned.SoftIRQ = th.SoftIRQ.learned(js, judgement.softirqs, judgement.slotTime)
	learned.IRQPressure = th.IRQPressure.learned(js, func(j judgement) time.Duration { return value(j.e.IRQPressure) },
		cpu)
	learned.SMI = th.SMI.learned(js, func(j judgement) int64 { return value(j.e.SMIs) }, judgement.slotTime)
	learned.Swap = th.Swap.learned(js, func(j judgement) int64 { return value(j.e.Swapped) }, wall)
	learned.Refault = th.Refault.learned(js, judgement.refaults, wall)
	learned.NUMA = th.NUMA.learned(js, func(j judgement) int64 { return value(j.e.NUMAMigrations) }, wall)
	learned.Remote = th.Remote.learned(js)
	learned.Frequency = th.Frequency.learned(js)
	return learned
}

const (
	neighboursFrom = 20
	// A smaller cost cannot be distinguished from the noise of the kernels. With a larger one, nearly every verdict
	// would be explained away: the host is not fit for judging.
	leastNeighbours, mostNeighbours = 0.02, 0.5
)

// WithNeighbours returns the thresholds with the cost of busy neighbours learned from reference kernels in memory:
// longer contains the ratio by which each took longer than usual while neighbours were busy. With fewer than 20 values,
// nothing changes.
func (th Thresholds) WithNeighbours(longer []float64) Thresholds {
	if len(longer) >= neighboursFrom {
		th.Neighbours.Cost = min(max(stats.Quantile(longer, 0.95), leastNeighbours), mostNeighbours)
	}
	return th
}

func (t Share) learned(js []judgement, d, of func(judgement) time.Duration) Share {
	sum, whole := total(js, d), total(js, of)
	t.Floor = max(t.Floor, usual(js, d))
	if whole > 0 {
		t.Ratio = max(t.Ratio, rateSlack*float64(sum)/float64(whole))
	}
	return t
}

func (t Count) learned(js []judgement, n func(judgement) int64, of func(judgement) time.Duration) Count {
	sum, whole := total(js, n), total(js, of)
	t.Base = max(t.Base, usual(js, n))
	if whole > 0 {
		t.PerSecond = max(t.PerSecond, rateSlack*float64(sum)/whole.Seconds())
	}
	return t
}

// learned computes the cost of a fault from all observations together: system time is sampled in ticks, which may be
// longer than the faults of one kernel take. It needs LearnFrom times as many faults as the check of a run.
func (t FaultCost) learned(js []judgement) FaultCost {
	var faults int64
	var system time.Duration
	for _, j := range js {
		if n := value(j.e.MinorFaults); n >= t.MinFaults {
			faults += n
			system += j.f.SystemTime
		}
	}
	if faults == 0 || faults < LearnFrom*t.MinFaults {
		return t
	}
	t.Above = min(max(t.Above, time.Duration(math.Round(rateSlack*float64(system)/float64(faults)))), t.Below)
	return t
}

// learned sets an unknown planned frequency to the median, and the slack to the 99th percentile of the deviations.
func (t Frequency) learned(js []judgement) Frequency {
	var ratios, off []float64
	for _, j := range js {
		if r := j.e.FrequencyRatio; r != nil && j.f.CPUTime >= t.MinCPU {
			ratios = append(ratios, *r)
		}
	}
	if len(ratios) < LearnFrom {
		return t
	}
	if t.Plan == 0 {
		t.Plan = stats.Quantile(ratios, 0.5)
	}
	for _, r := range ratios {
		off = append(off, math.Abs(t.off(&r)))
	}
	t.Slack = max(t.Slack, stats.Quantile(off, learnedPart))
	return t
}

func (t Volume) learned(js []judgement) Volume {
	remote := func(j judgement) units.Bytes { return value(j.e.L3Remote) }
	all := func(j judgement) units.Bytes { return value(j.e.L3Traffic) }
	t.Floor = max(t.Floor, usual(js, remote))
	if sum := total(js, all); sum > 0 {
		t.Ratio = max(t.Ratio, rateSlack*float64(total(js, remote))/float64(sum))
	}
	return t
}

// usual returns the 99th percentile of an amount.
func usual[T ~int64](js []judgement, amount func(judgement) T) T {
	all := make([]T, len(js))
	for i, j := range js {
		all[i] = amount(j)
	}
	return stats.Quantile(all, learnedPart)
}

func total[T ~int64](js []judgement, amount func(judgement) T) T {
	var sum T
	for _, j := range js {
		sum += amount(j)
	}
	return sum
}

// foreign returns the time of other programs on the slot's CPUs, without kernel time if it is known separately, because
// that may be work for the run.
func (j judgement) foreign() time.Duration {
	if j.e.ForeignUserTime != nil {
		return *j.e.ForeignUserTime + value(j.e.ForeignSystemTime)
	}
	return value(j.e.ForeignTime)
}

func (j judgement) stealTicks() int64 {
	if j.e.StealTime == nil {
		return 0
	}
	return int64(*j.e.StealTime / tick)
}

// nohzTicks returns the number of timer interrupts on a nohz_full CPU, or 0 if the tick runs anyway.
func (j judgement) nohzTicks() int64 {
	if !j.f.NohzFull || j.sharedWithItself() {
		return 0
	}
	return j.ticks()
}
