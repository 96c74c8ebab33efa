package tune

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/base/cpuset"
)

// knobs is the table, in the order in which it is applied; restoring goes backwards. A function and
// not a variable, so that nobody can change it.
//
// Threads come first and go back last, since much of the rest makes the kernel rewrite affinities (a
// CPU that goes offline, a partition that is made or removed): only what was read before is the old
// value, and only what is written after the rest is back stays. Then SMT, because it takes CPUs and
// their files away; frequencies; interrupts and workers; the kernel's own timers and memory; swap; and at
// last the partition.
func knobs() []knob {
	return slices.Concat(threadKnobs(), smtKnobs(), frequencyKnobs(), interruptKnobs(), timerKnobs(), memoryKnobs(), swapKnobs(), partitionKnobs())
}

const cpuDir = "/sys/devices/system/cpu"

func smtKnobs() []knob {
	return []knob{{
		id: "smt-off", title: "SMT (hyper-threading)",
		why:   "two threads of a core share its units and first caches: a run depends on what its sibling does",
		risk:  "half of the logical CPUs go; a thread bound to one of them alone may run anywhere afterwards",
		plugs: true,
		rows:  []row{{pattern: cpuDir + "/smt/control", kind: word, to: smtOff}},
	}, {
		id: "smt-sibling-free", title: "siblings of reserved CPUs",
		why:   "where SMT stays on, a busy sibling takes up to half of the core away from the run",
		risk:  "these CPUs are gone for everybody; a thread bound to one of them alone may run anywhere afterwards",
		plugs: true,
		rows:  []row{{pattern: cpuDir + "/cpu[0-9]*/online", kind: word, to: siblingOff}},
	}}
}

// smtOff keeps SMT on where it would take a reserved core away: the kernel leaves the first thread of
// each. smt-sibling-free, which comes next, then takes the others.
func smtOff(v *view, _, now string) (string, string) {
	var lost cpuset.Set
	for _, id := range v.reserved {
		if c, ok := v.top.CPU(id); ok && !v.reserved.Contains(c.Siblings[0]) {
			lost = lost.Union(cpuset.New(id))
		}
	}
	switch now {
	case "on":
		if len(lost) > 0 {
			return "", "CPU " + lost.String() + " would go, which is reserved: it is not the first thread of its core"
		}
		return "off", ""
	case "off", "forceoff":
		return now, ""
	case "notsupported", "notimplemented":
		return "", "the processor shows no SMT"
	}
	// POWER counts threads per core.
	if n, err := strconv.Atoi(now); err == nil {
		return strconv.Itoa(min(n, 1)), ""
	}
	return "", "it says " + strconv.Quote(now)
}

// siblingOff leaves alone what is reserved itself: a slot takes one CPU of a core, and the other idles.
func siblingOff(v *view, file, now string) (string, string) {
	id, err := strconv.Atoi(strings.TrimPrefix(path.Base(path.Dir(file)), "cpu"))
	if err != nil || v.reserved.Contains(id) || now != "1" {
		return now, ""
	}
	if c, ok := v.top.CPU(id); ok && c.Siblings.Overlaps(v.reserved) {
		return "0", ""
	}
	return now, ""
}

func interruptKnobs() []knob {
	return []knob{{
		id: "irq-affinity", title: "device interrupts",
		why:  "each interrupt takes its handler's time out of the run and its lines out of the caches",
		risk: "devices are served by fewer CPUs; irqbalance, where it runs, moves interrupts back",
		rows: []row{
			{pattern: "/proc/irq/default_smp_affinity", kind: mask, to: maskOffReserved},
			{pattern: "/proc/irq/[0-9]*/smp_affinity_list", kind: list, to: offReserved, mayRefuse: true},
		},
	}, {
		id: "net-rps-xps", title: "steering of network packets",
		why:  "packets are handled by soft interrupts of the CPUs that are named there",
		risk: "fewer CPUs handle packets",
		rows: []row{
			{pattern: "/sys/class/net/*/queues/rx-*/rps_cpus", kind: mask, to: dropReserved, mayRefuse: true},
			{pattern: "/sys/class/net/*/queues/tx-*/xps_cpus", kind: mask, to: maskOffUnlessEmpty, mayRefuse: true},
		},
	}, {
		id: "wq-unbound", title: "unbound kernel workers",
		why:  "writeback, crypto and storage workers preempt the run for 10 us to 1 ms at a time",
		risk: "fewer CPUs do the kernel's deferred work",
		rows: []row{
			{pattern: "/sys/devices/virtual/workqueue/cpumask", kind: mask, to: maskOffReserved},
			{pattern: "/sys/devices/virtual/workqueue/*/cpumask", kind: mask, to: maskOffReserved},
		},
	}}
}

// maskOffUnlessEmpty leaves an empty mask, which steers nothing, and never makes one.
func maskOffUnlessEmpty(v *view, file, now string) (string, string) {
	if set, err := mask.set(now); err == nil && len(set) == 0 {
		return now, ""
	}
	return maskOffReserved(v, file, now)
}

func timerKnobs() []knob {
	return []knob{{
		id: "watchdogs", title: "watchdogs",
		why:  "a timer and a thread on each CPU every 4 s, and one hardware counter taken",
		risk: "a reserved CPU that hangs is noticed later or not at all",
		rows: []row{
			{pattern: "/proc/sys/kernel/nmi_watchdog", kind: word, to: always("0")},
			{pattern: "/proc/sys/kernel/watchdog_cpumask", kind: list, to: offReserved},
		},
	}, {
		id: "housekeeping-timers", title: "timers of the kernel's housekeeping",
		why:  "statistics of memory are folded every second on each CPU, and timers of other CPUs move in",
		risk: "figures of memory lag by up to 10 s; CPUs that could sleep wake for their own timers",
		rows: []row{
			{pattern: "/proc/sys/vm/stat_interval", kind: word, to: atLeast(10)},
			{pattern: "/proc/sys/kernel/timer_migration", kind: word, to: always("0")},
		},
	}, {
		id: "autogroup", title: "automatic groups of the scheduler",
		why:  "nice has no effect between sessions while it is on",
		risk: "sessions on the other CPUs share them by nice alone",
		rows: []row{{pattern: "/proc/sys/kernel/sched_autogroup_enabled", kind: word, to: always("0")}},
	}, {
		id: "fair-server", title: "deadline server of the scheduler",
		why:  "since Linux 6.12 its timer can restart the tick of a CPU without one, at full rate",
		risk: "a real-time task that never sleeps starves the ordinary ones of a reserved CPU",
		rows: []row{{pattern: "/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime", kind: word, to: always("0")}},
	}, {
		id: "clocksource", title: "clock source",
		why:  "every reading of another clock is a trap or a slow device access of 0.5 to 4 us",
		risk: "the kernel gives a counter up that it finds unstable, and says so in its log",
		rows: []row{{pattern: "/sys/devices/system/clocksource/clocksource0/current_clocksource", kind: word, to: ownCounter}},
	}}
}

// ownCounter wants the processor's counter where the kernel still offers it.
func ownCounter(v *view, file, now string) (string, string) {
	offered, err := v.fs.Read(path.Join(path.Dir(file), "available_clocksource"))
	if err != nil {
		return "", "available_clocksource cannot be read: " + cause(err)
	}
	for _, name := range []string{"tsc", "arch_sys_counter", "timebase"} {
		if slices.Contains(strings.Fields(offered), name) {
			return name, ""
		}
	}
	return "", "available_clocksource offers " + strings.Join(strings.Fields(offered), ", ") + " only"
}

func memoryKnobs() []knob {
	return []knob{{
		id: "thp", title: "transparent huge pages",
		why:  "with always, the spread of a sieve grows from 8 to 188 %: a huge page is there or is not",
		risk: "programs that gained from huge pages without asking are slower",
		rows: []row{
			{pattern: "/sys/kernel/mm/transparent_hugepage/enabled", kind: token, to: unless("madvise", "never")},
			{pattern: "/sys/kernel/mm/transparent_hugepage/defrag", kind: token, to: unless("madvise", "never", "defer", "defer+madvise")},
		},
	}, {
		id: "tmpfs-node", title: "huge pages in memory file systems",
		why:  "shared memory of programs, and with force the box of a run too, gets huge pages when there are some",
		risk: "programs that gained from them are slower",
		rows: []row{{pattern: "/sys/kernel/mm/transparent_hugepage/shmem_enabled", kind: token, to: unless("never", "advise", "deny")}},
	}, {
		id: "numa-balancing", title: "automatic NUMA balancing",
		why:  "the kernel unmaps pages to see who uses them: faults in the middle of a run",
		risk: "memory of other programs stays where it was first touched",
		rows: []row{{pattern: "/proc/sys/kernel/numa_balancing", kind: word, to: always("0")}},
	}, {
		id: "ksm", title: "merging of equal pages",
		why:  "a thread compares pages all the time, and a write to a merged one is a fault and a copy",
		risk: "virtual machines on this host need more memory; what is merged stays so",
		rows: []row{{pattern: "/sys/kernel/mm/ksm/run", kind: word, to: unless("0", "2")}},
	}, {
		id: "compaction", title: "tidying of memory",
		why:  "pages are moved under a running program, which then faults",
		risk: "large pages become scarcer as the host ages",
		rows: []row{
			{pattern: "/proc/sys/vm/compaction_proactiveness", kind: word, to: always("0")},
			{pattern: "/proc/sys/vm/zone_reclaim_mode", kind: word, to: always("0")},
			{pattern: "/proc/sys/vm/watermark_boost_factor", kind: word, to: always("0")},
		},
	}, {
		id: "aslr", title: "address space randomisation",
		why:  "it averages out across repeats, and a host that does other work needs its protection",
		risk: "none: it is the kernel's default",
		rows: []row{{pattern: "/proc/sys/kernel/randomize_va_space", kind: word, to: always("2")}},
	}}
}
