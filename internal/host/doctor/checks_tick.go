package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
	"judged/internal/host/proc"
)

func lookCallbacks(v *view) Outcome {
	if value, known := v.kernelOption("CONFIG_RCU_NOCB_CPU"); known && value != "y" {
		return skip("the kernel is built without CONFIG_RCU_NOCB_CPU")
	}
	if blind := v.blind(); blind != "" {
		return unknown("", blind)
	}
	var moved, astray cpuset.Set
	for _, t := range v.tasks {
		kind, number, _ := strings.Cut(t.Name, "/")
		id, err := strconv.Atoi(number)
		if !t.Kernel() || kind != "rcuop" || err != nil || !v.Reserved.Contains(id) {
			continue
		}
		moved = moved.Union(cpuset.New(id))
		if t.Allowed.Overlaps(v.Reserved) {
			astray = astray.Union(cpuset.New(id))
		}
	}
	found := "no thread rcuop/[id]"
	if len(moved) > 0 {
		found = "threads for CPU " + moved.String()
	}
	switch missing := v.Reserved.Minus(moved); {
	case len(missing) > 0:
		return warn(found, "callbacks of CPU "+missing.String()+" run there as soft interrupts")
	case len(astray) > 0:
		return warn(found, "the threads for CPU "+astray.String()+" may run on reserved CPUs themselves")
	default:
		return pass(found)
	}
}

func lookLimitCPU(v *view) Outcome {
	text := v.must("/proc/self/limits")
	soft, _, ok := proc.Limit(text, "Max cpu time")
	switch {
	case !ok:
		return unknown("", `/proc/self/limits has no line "Max cpu time"`)
	case soft == "unlimited":
		return pass(soft)
	case v.Reserved.Overlaps(v.Topology.NohzFull):
		return fail(soft+" s", "every run inherits it, and its timer turns the tick on")
	default:
		return warn(soft+" s", "every run inherits it")
	}
}

// lookTicks divides the timer interrupts by the time of work, both in the window if it holds enough work, else since
// boot. An idle CPU has some interrupts without work, so the figure is an upper bound: low is certain, high is a
// reason to look.
func lookTicks(v *view) Outcome {
	v.saw("/proc/interrupts", "/proc/stat")
	cpus := v.Reserved.Intersect(v.Topology.NohzFull).Intersect(v.Topology.Online)
	if len(cpus) == 0 {
		return skip(tickRuns)
	}
	local, ok := localTimers(v.Optional("/proc/interrupts"))
	if !ok {
		return skip("/proc/interrupts has no row LOC")
	}
	var most float64
	worst, busiest := -1, 0.0
	for _, id := range cpus {
		ticks, seconds := v.ticks(local, id)
		busiest = max(busiest, seconds)
		// Below ten seconds of work the interrupts of the boot would be most of it.
		if rate := float64(ticks) / seconds; seconds >= 10 && rate >= most {
			most, worst = rate, id
		}
	}
	switch {
	case worst < 0:
		return unknown(fmt.Sprintf("%.0f s of work since boot", busiest),
			"no reserved CPU has worked for 10 s since boot")
	case most > 5:
		return warn(fmt.Sprintf("%.1f a second of work on CPU %d", most, worst),
			"a second task, a timer or a probe may keep the tick on")
	default:
		return pass(fmt.Sprintf("at most %.1f a second of work", most))
	}
}

// ticks are a CPU's timer interrupts and its seconds of work, in the window if that has ten of them.
func (v *view) ticks(local map[int]uint64, id int) (uint64, float64) {
	n, seconds := local[id], busySeconds(v.Optional("/proc/stat"), id)
	if v.window == nil {
		return n, seconds
	}
	before, _ := localTimers(v.window.before.interrupts)
	if grown := seconds - busySeconds(v.window.before.stat, id); grown >= 10 {
		return n - min(n, before[id]), grown
	}
	return n, seconds
}

// lookWatchdogs ignores the CPUs of a soft watchdog that is off.
func lookWatchdogs(v *view) Outcome {
	o := v.values()
	if v.saw("/proc/sys/kernel/soft_watchdog"); v.Optional("/proc/sys/kernel/soft_watchdog") != "1" &&
		v.Optional("/proc/sys/kernel/nmi_watchdog") == "0" {
		return pass(o.Found + "; no soft watchdog")
	}
	return o
}

func lookFairServer(v *view) Outcome {
	text := v.must("/proc/sys/kernel/osrelease")
	major, minor, ok := release(text)
	switch {
	case ok && (major < 6 || major == 6 && minor < 12):
		return skip("Linux " + text + " has no deadline server; it came with 6.12")
	case !v.Reserved.Overlaps(v.Topology.NohzFull):
		return skip(tickRuns)
	}
	return v.values()
}

// tickRuns is why a check of stopped ticks is skipped.
const tickRuns = cpuDir + "/nohz_full names no reserved CPU: their ticks do not stop"
