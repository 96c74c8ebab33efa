package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
)

func tickChecks() []check {
	return []check{{
		id: "rcu-offload", title: "RCU callbacks moved away", severity: S3,
		wanted:  "threads rcuop/N for every N of CPU {R}, allowed on CPU {H} only",
		effect:  "callbacks of other CPUs' kernel work run as soft interrupts in the middle of a run: below 0.1 % (estimate)",
		confirm: "for p in $(pgrep rcuo); do taskset -cp $p; done",
		fix:     Fix{Runtime: []string{"pgrep rcuo | xargs -n 1 taskset -cp {H}   # once the threads exist"}, Boot: "rcu_nocbs={R} (implied by nohz_full={R})"},
		look:    lookCallbacks,
	}, {
		id: "rlimit-cpu", title: "no inherited limit of CPU time", severity: S2,
		wanted:  "Max cpu time of judged is unlimited",
		effect:  "a CPU time limit arms a timer of the whole process and turns the tick back on: 499 ticks instead of 0 in 2 s (measured in a guest), and the kernel kills runs that judged did not end",
		confirm: "grep 'Max cpu time' /proc/$(pidof -s judged)/limits",
		fix:     Fix{Runtime: []string{"prlimit --cpu=unlimited --pid $(pidof -s judged)"}, Boot: "no LimitCPU= in judged's unit and no cpu line in /etc/security/limits.conf"},
		look:    lookLimitCPU,
	}, {
		id: "fair-server", title: "deadline server of the scheduler", severity: S2,
		wanted:  "runtime 0 in /sys/kernel/debug/sched/fair_server/cpuN of CPU {R}",
		effect:  "since Linux 6.12 its timer can restart the tick of a nohz_full CPU at full rate: 0.6 % at 250 Hz (NV-Kernels issue 400; cost of a tick measured)",
		confirm: "grep . /sys/kernel/debug/sched/fair_server/cpu*/runtime",
		fix:     Fix{Runtime: []string{"for c in {RW}; do echo 0 > /sys/kernel/debug/sched/fair_server/cpu$c/runtime; done"}},
		look:    lookFairServer,
	}, {
		id: "tick-probe", title: "ticks where they should have stopped", severity: S2,
		wanted:  "at most 5 timer interrupts for a second of work on CPU {R} since boot",
		effect:  "17 us for each of 250 ticks a second, 0.6 % (measured in a virtual machine); more than a few mean a second task or a dependency that holds the tick",
		confirm: "grep LOC: /proc/interrupts",
		fix:     Fix{Runtime: []string{"echo 1 > /sys/kernel/tracing/events/timer/tick_stop/enable; cat /sys/kernel/tracing/trace_pipe   # names what holds it"}},
		look:    lookTicks,
	}, {
		id: "watchdogs", title: "watchdogs", severity: S3,
		wanted:  "nmi_watchdog 0; a soft watchdog on CPU {H} only",
		effect:  "a timer and a thread on each CPU every 4 s, and one hardware counter taken: below 0.01 % (estimate)",
		confirm: "grep . /proc/sys/kernel/nmi_watchdog /proc/sys/kernel/watchdog_cpumask",
		fix:     Fix{Runtime: []string{"echo 0 > /proc/sys/kernel/nmi_watchdog", "echo {H} > /proc/sys/kernel/watchdog_cpumask"}, Boot: "nmi_watchdog=0 nowatchdog"},
		look:    lookWatchdogs,
	}, {
		id: "housekeeping-timers", title: "timers of the kernel's housekeeping", severity: S3,
		wanted:  "vm.stat_interval 10 or more, kernel.timer_migration 0",
		effect:  "statistics of memory are folded every second on each CPU, and timers of other CPUs move in: below 0.01 % (estimate; values as the tuned profile cpu-partitioning sets them)",
		confirm: "grep . /proc/sys/vm/stat_interval /proc/sys/kernel/timer_migration",
		fix:     Fix{Runtime: []string{"echo 10 > /proc/sys/vm/stat_interval", "echo 0 > /proc/sys/kernel/timer_migration"}, Boot: "vm.stat_interval=10 and kernel.timer_migration=0 in /etc/sysctl.d; skew_tick=1 on the kernel command line"},
		look:    lookTimers,
	}}
}

func lookCallbacks(v *view) Outcome {
	if value, known := v.kernelOption("CONFIG_RCU_NOCB_CPU"); known && value != "y" {
		return skip("the kernel is built without CONFIG_RCU_NOCB_CPU")
	}
	if blind := v.blind(); blind != "" {
		return unknown("", blind)
	}
	var moved, astray cpuset.Set
	for _, t := range v.tasks {
		kind, number, _ := strings.Cut(t.comm, "/")
		id, err := strconv.Atoi(number)
		if !t.kernel() || kind != "rcuop" || err != nil || !v.reserved.Contains(id) {
			continue
		}
		moved = moved.Union(cpuset.New(id))
		if t.allowed.Overlaps(v.reserved) {
			astray = astray.Union(cpuset.New(id))
		}
	}
	found := "no thread rcuop/[id]"
	if len(moved) > 0 {
		found = "threads for CPU " + moved.String()
	}
	switch missing := v.reserved.Minus(moved); {
	case len(missing) > 0:
		return warn(found, "callbacks of CPU "+missing.String()+" run there as soft interrupts")
	case len(astray) > 0:
		return warn(found, "the threads for CPU "+astray.String()+" may themselves run on reserved CPUs")
	default:
		return pass(found)
	}
}

func lookLimitCPU(v *view) Outcome {
	text, bad := v.word("/proc/self/limits")
	if bad != nil {
		return *bad
	}
	soft, _, ok := limitOf(text, "Max cpu time")
	switch {
	case !ok:
		return unknown("", `/proc/self/limits has no line "Max cpu time"`)
	case soft == "unlimited":
		return pass(soft)
	case v.reserved.Overlaps(v.top.NohzFull):
		return fail(soft+" s", "every run inherits it, and its timer turns the tick back on")
	default:
		return warn(soft+" s", "every run inherits it")
	}
}

// limitOf reads a line of /proc/<pid>/limits, whose name is padded with blanks.
func limitOf(limits, name string) (soft, hard string, ok bool) {
	for line := range strings.Lines(limits) {
		if rest, found := strings.CutPrefix(line, name+" "); found {
			if f := strings.Fields(rest); len(f) >= 2 {
				return f[0], f[1], true
			}
		}
	}
	return "", "", false
}

func lookFairServer(v *view) Outcome {
	text, bad := v.word("/proc/sys/kernel/osrelease")
	if bad != nil {
		return *bad
	}
	major, minor, ok := release(text)
	if ok && (major < 6 || major == 6 && minor < 12) {
		return skip("Linux " + text + " has none; it came with 6.12")
	}
	if !v.reserved.Overlaps(v.top.NohzFull) {
		return skip(cpuDir + "/nohz_full names no reserved CPU: the tick goes on anyway")
	}
	var on cpuset.Set
	for _, id := range v.reserved.Intersect(v.top.NohzFull).Intersect(v.top.Online) {
		value, bad := v.word(fmt.Sprintf("/sys/kernel/debug/sched/fair_server/cpu%d/runtime", id))
		if bad != nil {
			return *bad
		}
		if value != "0" {
			on = on.Union(cpuset.New(id))
		}
	}
	if len(on) > 0 {
		return warn("on for CPU "+on.String(), "its timer can hold the tick there")
	}
	return pass("off")
}

// lookTicks divides the timer interrupts by the time of work, both in the window if there was enough
// of it, else since boot. A CPU that idles has
// some without work, so the figure is an upper bound: low is sure, high is a reason to look.
func lookTicks(v *view) Outcome {
	v.saw("/proc/interrupts", "/proc/stat")
	cpus := v.reserved.Intersect(v.top.NohzFull).Intersect(v.top.Online)
	if len(cpus) == 0 {
		return skip(cpuDir + "/nohz_full names no reserved CPU: the tick goes on anyway")
	}
	local, ok := localTimers(v.optional("/proc/interrupts"))
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
		return unknown(fmt.Sprintf("%.0f s of work since boot", busiest), "no reserved CPU has worked for 10 s since boot")
	case most > 5:
		return warn(fmt.Sprintf("%.1f a second of work on CPU %d", most, worst), "a second task, a timer or a probe may hold the tick")
	default:
		return pass(fmt.Sprintf("at most %.1f a second of work", most))
	}
}

// ticks are a CPU's timer interrupts and its seconds of work, in the window if it worked for ten of
// them.
func (v *view) ticks(local map[int]uint64, id int) (uint64, float64) {
	n, seconds := local[id], busySeconds(v.optional("/proc/stat"), id)
	if v.window == nil {
		return n, seconds
	}
	before, _ := localTimers(v.window.before.interrupts)
	if grown := seconds - busySeconds(v.window.before.stat, id); grown >= 10 {
		return n - min(n, before[id]), grown
	}
	return n, seconds
}

func lookWatchdogs(v *view) Outcome {
	nmi, bad := v.word("/proc/sys/kernel/nmi_watchdog")
	if bad != nil {
		return *bad
	}
	soft := v.optional("/proc/sys/kernel/soft_watchdog")
	mask, err := cpuset.Parse(v.optional("/proc/sys/kernel/watchdog_cpumask"))
	v.saw("/proc/sys/kernel/soft_watchdog", "/proc/sys/kernel/watchdog_cpumask")
	found := fmt.Sprintf("nmi %s, soft %s on CPU %s", nmi, orNone(soft), orNone(mask.String()))
	switch {
	case nmi != "0":
		return warn(found, "the NMI watchdog holds a hardware counter on every CPU")
	case err != nil:
		return unknown(found, "parse /proc/sys/kernel/watchdog_cpumask: "+err.Error())
	case soft == "1" && mask.Overlaps(v.reserved):
		return warn(found, "the soft watchdog wakes reserved CPUs")
	default:
		return pass(found)
	}
}

func lookTimers(v *view) Outcome {
	interval, bad := v.word("/proc/sys/vm/stat_interval")
	if bad != nil {
		return *bad
	}
	migration, bad := v.word("/proc/sys/kernel/timer_migration")
	if bad != nil {
		return *bad
	}
	found := fmt.Sprintf("stat_interval %s s, timer_migration %s", interval, migration)
	switch seconds, err := strconv.Atoi(interval); {
	case err != nil:
		return unknown(found, "/proc/sys/vm/stat_interval is not a number")
	case seconds < 10:
		return warn(found, "statistics are folded more often than every 10 s")
	case migration != "0":
		return warn(found, "timers may move to reserved CPUs")
	default:
		return pass(found)
	}
}
