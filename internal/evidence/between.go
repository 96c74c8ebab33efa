package evidence

import (
	"time"

	"judged/internal/job"
)

// Facts are what the sandbox knows of the run itself. Pointers are nil where the kernel did not say.
type Facts struct {
	CPUTime    time.Duration // all processes and threads of the run, by its cgroup
	WallTime   time.Duration // CLOCK_MONOTONIC, from go to the end of the first process
	UserTime   time.Duration
	SystemTime time.Duration

	RunDelay            *time.Duration // /proc/PID/schedstat, field 2: of the first thread only
	VoluntarySwitches   *int64
	InvoluntarySwitches *int64
	Migrations          *int64
	MinorFaults         *int64
	MajorFaults         *int64
	Throttled           *int64 // periods, cpu.stat nr_throttled

	Width    int  // CPUs of the slot
	NohzFull bool // all of them are in the nohz_full set
}

// tick is the unit of /proc/stat.
const tick = 10 * time.Millisecond

// The keys of job.Evidence.Interrupts that are not rows of /proc/interrupts.
const (
	irqTicks      = "irq_ticks"
	softirqTicks  = "softirq_ticks"
	coreThrottles = "core_throttles"
)

// Between is what happened on the slot's CPUs from one snapshot to the next that was not the run.
// Both snapshots must be of the same Reader.
func Between(before, after Snapshot, f Facts) job.Evidence {
	e := job.Evidence{
		RunDelay:            f.RunDelay,
		VoluntarySwitches:   f.VoluntarySwitches,
		InvoluntarySwitches: f.InvoluntarySwitches,
		Migrations:          f.Migrations,
		MinorFaults:         f.MinorFaults,
		MajorFaults:         f.MajorFaults,
		Throttled:           f.Throttled,
		Interrupts:          before.interrupts.growth(after.interrupts),
	}
	if n, ok := before.ticks.steal.growth(after.ticks.steal); ok {
		steal := time.Duration(n) * tick
		e.StealTime = &steal
	}
	e.ForeignTime = foreign(before, after, f, e.StealTime)
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
	count(coreThrottles, before.throttles, after.throttles)
	return e
}

// foreign is the growth of the CPUs' run time minus the run's own. It cannot be negative: the two
// clocks are read at slightly different moments.
//
// The two sources differ in one thing. A cgroup's time leaves out what the hypervisor stole, on both
// sides of the subtraction; schedstat counts by the wall, so there steal is taken off, as far as its
// ticks show it. The rest, less than a tick, stays foreign: it was.
func foreign(before, after Snapshot, f Facts, steal *time.Duration) *time.Duration {
	grown, ok := before.busy.growth(after.busy)
	if !ok || before.source != after.source {
		return nil
	}
	d := time.Duration(grown) - f.CPUTime
	if before.source == schedstat && steal != nil {
		d -= *steal
	}
	d = max(d, 0)
	return &d
}
