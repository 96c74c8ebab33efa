package evidence

import (
	"cmp"
	"math"
	"strings"
	"time"

	"judged/internal/api"
)

// Causes returns what disturbed a run, in the order of api.Causes. It is empty, not nil, for an undisturbed run. It
// does not consider whether the run was fast enough.
//
// Effects of the program on itself are not causes. A program with more runnable threads than CPUs waits for itself and
// preempts itself; one that sleeps often causes timer interrupts; threads on two CPUs interrupt each other:
//
//   - Waiting and preemption count only as far as others can have used the CPU in that time (elsewhere).
//   - One timer interrupt is allowed per voluntary switch. On a nohz_full CPU the tick runs while the program has more
//     than one runnable thread there, so the ordinary rate is allowed then.
//   - Interrupts between CPUs, and migrations, count only on slots of one CPU.
//   - Refaults count only if the run is known not to have reached its memory limit.
//
// Known gaps: if only RunDelay is known, a wait of other threads than the first is not detected, and without foreign
// time a program that sleeps and has more threads than CPUs may count as disturbed by itself. A major fault on a file
// that the program has mapped itself counts like any other.
func Causes(e api.Evidence, f Facts, th Thresholds) []api.Cause {
	j := judgement{e, f, th, float64(max(f.Width, 1))}
	found := map[api.Cause]bool{
		api.CauseWait:     th.Wait.exceeded(j.wait(), f.CPUTime),
		api.CauseForeign:  th.Foreign.exceeded(j.foreign(), j.slotTime()),
		api.CauseSteal:    e.StealTime != nil && *e.StealTime >= time.Duration(th.StealTicks)*tick,
		api.CauseMigrated: f.Width == 1 && value(e.Migrations) > 0,
		api.CauseIRQ:      j.interrupted(),
		api.CauseTick:     j.ticked(),
		api.CauseIPI:      f.Width == 1 && th.IPI.exceeded(j.ipis(), f.WallTime),
		api.CauseThrottle: th.Wait.exceeded(value(e.ThrottledTime), f.WallTime) ||
			value(e.Throttled)+e.Interrupts[coreThrottles]+e.Interrupts[packageThrottles]+e.Interrupts["TRM"] > 0,
		api.CauseMajfault:  value(e.MajorFaults) > 0,
		api.CauseFaultCost: j.slowFaults(),
		api.CausePreempted: th.Preempted.exceeded(j.preemptions(), j.slotTime()),
		api.CauseSoftIRQ:   th.SoftIRQ.exceeded(j.softirqs(), j.slotTime()),
		api.CauseFrequency: j.frequencyOff() > th.Frequency.Slack,
		api.CauseSMI:       th.SMI.exceeded(value(e.SMIs), j.slotTime()),
		api.CauseSwap:      th.Swap.exceeded(value(e.Swapped), f.WallTime),
		api.CauseRefault:   th.Refault.exceeded(j.refaults(), f.WallTime),
		api.CauseRemote: th.NUMA.exceeded(value(e.NUMAMigrations), f.WallTime) ||
			th.Remote.exceeded(value(e.L3Remote), value(e.L3Traffic)),
		api.CauseNeighbours: value(e.NeighboursBusy) > th.Neighbours.Busy,
	}
	causes := []api.Cause{}
	for _, c := range api.Causes() {
		if found[c] {
			causes = append(causes, c)
		}
	}
	return causes
}

type judgement struct {
	e     api.Evidence
	f     Facts
	th    Thresholds
	width float64
}

// slotTime returns the wall time of all CPUs of the slot together.
func (j judgement) slotTime() time.Duration {
	return time.Duration(j.width * float64(j.f.WallTime))
}

// elsewhere returns the most time that others can have used on the slot's CPUs: what the run left and, if both are
// measured, at most the sum of foreign and steal time.
func (j judgement) elsewhere() time.Duration {
	left := max(j.slotTime()-j.f.CPUTime, 0)
	if j.e.ForeignTime == nil || j.e.StealTime == nil {
		return left
	}
	return min(left, *j.e.ForeignTime+*j.e.StealTime)
}

// wait returns the time that the run waited for others. It is unknown without the width of the slot.
func (j judgement) wait() time.Duration {
	if j.f.Width < 1 {
		return 0
	}
	return min(value(cmp.Or(j.e.Waited, j.e.RunDelay)), j.elsewhere())
}

// preemptions returns the number of involuntary switches that others can have caused.
func (j judgement) preemptions() int64 {
	if j.f.Width < 1 {
		return 0
	}
	return min(value(j.e.InvoluntarySwitches), int64(j.elsewhere()/max(j.th.PreemptionGap, 1)))
}

// interrupted checks device interrupts, the time in handlers, and machine checks, of which even one is abnormal: MCE
// (exceptions), THR and DFR (the processor reports corrected and deferred errors).
func (j judgement) interrupted() bool {
	n := j.e.Interrupts
	return j.th.Device.exceeded(n[deviceRow], j.slotTime()) ||
		j.th.NMI.exceeded(n["NMI"], j.slotTime()) ||
		j.th.IRQTime.exceeded(j.handlers(), j.slotTime()) ||
		j.th.IRQPressure.exceeded(value(j.e.IRQPressure), j.f.CPUTime) ||
		n["MCE"]+n["THR"]+n["DFR"] > 0
}

// handlers returns the time in hard and soft interrupts.
func (j judgement) handlers() time.Duration {
	return time.Duration(j.e.Interrupts[irqTicks]+j.e.Interrupts[softirqTicks]) * tick
}

// ticks returns the number of timer interrupts that the program's own sleeps do not explain.
func (j judgement) ticks() int64 {
	return j.e.Interrupts[timerRow] - value(j.e.VoluntarySwitches)
}

// ticked checks for timer interrupts that the kernel's tick does not explain either.
func (j judgement) ticked() bool {
	n := j.ticks()
	if j.f.NohzFull && !j.sharedWithItself() {
		return j.th.NohzTicks.exceeded(n, j.slotTime())
	}
	return Count{j.th.NohzTicks.Base, j.th.TickRate * (1 + j.th.TickSlack)}.exceeded(n, j.slotTime())
}

// sharedWithItself reports whether the run waited for or preempted itself.
func (j judgement) sharedWithItself() bool {
	own := value(j.e.InvoluntarySwitches) - int64(j.elsewhere()/max(j.th.PreemptionGap, 1))
	if j.th.Preempted.exceeded(own, j.slotTime()) {
		return true
	}
	return j.e.RunDelay != nil && j.th.Wait.exceeded(*j.e.RunDelay-j.elsewhere(), j.f.CPUTime)
}

// ipis returns the sum of the interrupts between CPUs: x86 has names for them, arm64 a common prefix.
func (j judgement) ipis() int64 {
	var sum int64
	for name, n := range j.e.Interrupts {
		if name == "RES" || name == "CAL" || name == "TLB" || strings.HasPrefix(name, "IPI") {
			sum += n
		}
	}
	return sum
}

// slowFaults checks the system time per page fault.
func (j judgement) slowFaults() bool {
	th, faults := j.th.FaultCost, value(j.e.MinorFaults)
	if faults == 0 || faults < th.MinFaults || j.f.SystemTime < th.MinSystem ||
		float64(j.f.SystemTime) < th.MinRatio*float64(j.f.CPUTime) {
		return false
	}
	cost := j.f.SystemTime / time.Duration(faults)
	return cost > th.Above && cost < th.Below
}

func (j judgement) softirqs() int64 {
	return j.e.Interrupts[softirqNet] + j.e.Interrupts[softirqBlock]
}

// frequencyOff returns how far the frequency was from the planned one in either direction: a run on a CPU that is too
// fast proves just as little.
func (j judgement) frequencyOff() float64 {
	if j.f.CPUTime < j.th.Frequency.MinCPU {
		return 0
	}
	return math.Abs(j.th.Frequency.off(j.e.FrequencyRatio))
}

// refaults returns the number of refaults that the run's memory limit did not cause. It is unknown if limit hits are
// not counted.
func (j judgement) refaults() int64 {
	if j.e.LimitHits == nil || *j.e.LimitHits > 0 {
		return 0
	}
	return value(j.e.Refaults)
}

// value returns what was measured, or 0 if it is unknown.
func value[T ~int64 | ~float64](n *T) T {
	if n == nil {
		return 0
	}
	return *n
}
