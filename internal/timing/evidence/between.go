package evidence

import (
	"time"

	"judged/internal/api"
	"judged/internal/base/units"
)

// Facts are the measurements of the sandbox about the run itself. A nil pointer means that the kernel has no such counter.
type Facts struct {
	CPUTime    time.Duration // all processes and threads of the run, by its cgroup
	WallTime   time.Duration // CLOCK_MONOTONIC, from go to the end of the first process
	UserTime   time.Duration
	SystemTime time.Duration

	RunDelay            *time.Duration // /proc/PID/schedstat, field 2: of the first thread only
	Waited              *time.Duration // of all threads and processes, waiting for others than each other
	VoluntarySwitches   *int64
	InvoluntarySwitches *int64
	Migrations          *int64
	MinorFaults         *int64
	MajorFaults         *int64
	Throttled           *int64         // periods, cpu.stat nr_throttled
	Pressure            *time.Duration // cpu.pressure, some: of all threads of the run
	IRQPressure         *time.Duration // irq.pressure, full
	Refaults            *int64         // pages that were evicted and read again
	LimitHits           *int64         // number of times that the run reached its memory limit
	NUMAMigrations      *int64         // pages that the kernel moved between nodes

	Width    int  // CPUs of the slot
	NohzFull bool // whether all of them are in the nohz_full set
}

// tick is the unit of /proc/stat.
const tick = 10 * time.Millisecond

// The keys of api.Evidence.Interrupts that are not rows of /proc/interrupts.
const (
	irqTicks         = "irq_ticks"
	softirqTicks     = "softirq_ticks"
	softirqNet       = "softirq_net"
	softirqBlock     = "softirq_block"
	coreThrottles    = "core_throttles"
	packageThrottles = "package_throttles"
)

// Between returns what happened on the slot's CPUs between two snapshots of one Reader, except for the run itself.
func Between(before, after Snapshot, f Facts) api.Evidence {
	e := api.Evidence{
		RunDelay:            f.RunDelay,
		Waited:              f.Waited,
		VoluntarySwitches:   f.VoluntarySwitches,
		InvoluntarySwitches: f.InvoluntarySwitches,
		Migrations:          f.Migrations,
		MinorFaults:         f.MinorFaults,
		MajorFaults:         f.MajorFaults,
		Throttled:           f.Throttled,
		Pressure:            f.Pressure,
		IRQPressure:         f.IRQPressure,
		Refaults:            f.Refaults,
		LimitHits:           f.LimitHits,
		NUMAMigrations:      f.NUMAMigrations,
		Swapped:             known(before.vm.swapped.growth(after.vm.swapped)),
		CompactionStalls:    known(before.vm.stalls.growth(after.vm.stalls)),
		Interrupts:          before.interrupts.wait().growth(after.interrupts.wait()),
	}
	if n, ok := before.ticks.steal.growth(after.ticks.steal); ok {
		e.StealTime = new(time.Duration(n) * tick)
	}
	addPerf(&e, &before.perf, &after.perf)
	addTraffic(&e, before.traffic, after.traffic)
	addOthers(&e, before, after, f)
	if n, ok := before.throttled.growth(after.throttled); ok {
		e.ThrottledTime = new(time.Duration(n))
	}
	count := func(name string, before, after tally) {
		n, ok := before.growth(after)
		if !ok || n == 0 {
			return
		}
		if e.Interrupts == nil {
			e.Interrupts = make(map[string]int64)
		}
		e.Interrupts[name] = n
	}
	count(irqTicks, before.ticks.irq, after.ticks.irq)
	count(softirqTicks, before.ticks.softirq, after.ticks.softirq)
	count(softirqNet, before.softirqs.net, after.softirqs.net)
	count(softirqBlock, before.softirqs.block, after.softirqs.block)
	count(coreThrottles, before.cores, after.cores)
	count(packageThrottles, before.packages, after.packages)
	return e
}

// Cost returns the time that reading two snapshots took, in the calling goroutine and in the background.
func Cost(before, after Snapshot) time.Duration {
	d := before.took + after.took
	for _, r := range []*reading{before.interrupts, after.interrupts} {
		if r != nil {
			<-r.done
			d += r.took
		}
	}
	return d
}

func addPerf(e *api.Evidence, before, after *totals) {
	e.CPUSwitches = before.growth(after, switches)
	e.CPUArrivals = before.growth(after, arrivals)
	e.SMIs = before.growth(after, smis)
	e.Instructions = before.growth(after, instructions)
	e.Cycles = before.growth(after, cycles)
	e.ReferenceCycles = before.growth(after, referenceCycles)
	e.CacheMisses = before.growth(after, cacheMisses)
	actual, nominal := before.growth(after, aperf), before.growth(after, mperf)
	if actual != nil && value(nominal) > 0 {
		e.FrequencyRatio = new(float64(*actual) / float64(*nominal))
	}
}

func addTraffic(e *api.Evidence, before, after traffic) {
	total, ok := before.total.growth(after.total)
	if ok {
		e.L3Traffic = new(units.Bytes(total))
	}
	if local, alsoLocal := before.local.growth(after.local); ok && alsoLocal {
		// The counters are not read at the same time.
		e.L3Remote = new(units.Bytes(max(total-local, 0)))
	}
	if after.occupancy.cpus > 0 {
		e.L3Occupancy = new(units.Bytes(after.occupancy.sum))
	}
}

// addOthers adds the time that other programs used on the slot's CPUs and on the neighbours' CPUs.
//
// Kernel threads run in kernel mode only, and so does all work of the kernel for a program. So a run cannot cause
// others' time in user mode. User time is counted in ticks: a run that leaves the CPU before each tick makes the count
// smaller, not larger.
func addOthers(e *api.Evidence, before, after Snapshot, f Facts) {
	e.ForeignTime = foreign(before, after, f, e.StealTime)
	if n, ok := before.ticks.user.growth(after.ticks.user); ok && e.ForeignTime != nil {
		// The counts of user and nice time are both rounded, so the last tick may be incomplete.
		e.ForeignUserTime = new(min(*e.ForeignTime, max(time.Duration(n-1)*tick-f.ownUser(), 0)))
	}
	if system, ok := before.late.others(after); ok && e.ForeignUserTime != nil {
		e.ForeignSystemTime = new(min(*e.ForeignTime-*e.ForeignUserTime, max(system-f.ownSystem(), 0)))
	}
	if others, ok := neighbours(before, after); ok && f.WallTime > 0 {
		e.NeighboursBusy = new(min(float64(others)/float64(f.WallTime), 1))
	}
}

// ownUser returns at least the run's time in user mode: all of its time if the kernel does not split it.
func (f Facts) ownUser() time.Duration {
	if f.UserTime+f.SystemTime == 0 {
		return f.CPUTime
	}
	return f.UserTime
}

// ownSystem returns at least the run's time in kernel mode.
func (f Facts) ownSystem() time.Duration {
	if f.UserTime+f.SystemTime == 0 {
		return f.CPUTime
	}
	return f.SystemTime
}

// neighbours returns the time in user mode of other programs than judged's on the neighbours' CPUs.
//
// The ticks in user mode are a sample: a contestant who makes an interactor work at each tick and sleep in between
// makes it look busier than it is. So the result is at most the time that the CPUs spent on other work than judged's,
// which is measured. That time includes work of the kernel, which a contestant can cause, so it is not sufficient alone
// either.
func neighbours(before, after Snapshot) (time.Duration, bool) {
	ticks, ok := before.neighbours.growth(after.neighbours)
	ownUser, known := before.ownUser.growth(after.ownUser)
	others := time.Duration(ticks)*tick - time.Duration(ownUser)
	busy, measured := before.neighboursBusy.growth(after.neighboursBusy)
	if own, known := before.own.growth(after.own); measured && known {
		others = min(others, time.Duration(busy-own))
	}
	return max(others, 0), ok && known
}

// NeighboursIdle reports whether less than one tick of other programs was counted on the neighbours' CPUs. It returns
// true if there are no neighbours.
func NeighboursIdle(before, after Snapshot) bool {
	busy, _ := neighbours(before, after)
	return busy < tick
}

// foreign returns the growth of the CPUs' run time minus that of the run, at least 0: the two clocks are read at
// slightly different times.
//
// The time of a cgroup excludes stolen time, on both sides of the subtraction. schedstat includes it, so the steal time
// in /proc/stat is subtracted. The remainder of less than a tick counts as foreign, which is correct.
func foreign(before, after Snapshot, f Facts, steal *time.Duration) *time.Duration {
	grown, ok := before.busy.growth(after.busy)
	if !ok {
		return nil
	}
	d := time.Duration(grown) - f.CPUTime
	if before.source == schedstat && steal != nil {
		d -= *steal
	}
	d = max(d, 0)
	return &d
}
