package settings

import (
	"judged/internal/api"
)

func isolationSettings() []Setting {
	const partition = "/sys/fs/cgroup/judged/cpuset.cpus.partition"
	return []Setting{{
		ID: "sched-isolated", Title: "isolation from the scheduler", Severity: api.SeverityS1,
		Wanted: "CPU {R} in isolcpus= or in a cgroup v2 partition",
		Effect: "the scheduler places any task on any CPU: spread of 20 runs 2230 -> 375 ms with isolated cores " +
			"(published experiment)",
		See:  "cat /sys/devices/system/cpu/isolated /sys/fs/cgroup/cpuset.cpus.isolated",
		Boot: "isolcpus=managed_irq,domain,{R} (for slots of one CPU only)",
		Risk: "nothing else can use the reserved CPUs; stop judged while the partition is created or removed",
	}, {
		ID: "width-vs-isolation", Title: "slot width against isolation", Severity: api.SeverityS1,
		Wanted: "slots of one CPU, or CPUs that the scheduler balances among themselves (partition root)",
		Effect: "the scheduler does not balance isolated CPUs: of two threads in a slot of two, one got 1508 ms of CPU " +
			"and the other 0 (measured)",
		See:  "grep . /sys/devices/system/cpu/isolated /sys/fs/cgroup/*/cpuset.cpus.partition",
		Run:  []string{SetFile("root", partition) + "   # where a partition isolates them (cgroup v2)"},
		Boot: "drop isolcpus= for these CPUs; keep nohz_full={R} irqaffinity={H}", TunedBy: "sched-isolated",
	}, {
		ID: "nohz-full", Title: "stopped tick", Severity: api.SeverityS2,
		Wanted: "nohz_full holds CPU {R}",
		Effect: "17 us for each of 250 ticks a second, 0.6 % in a virtual machine (measured); 0.05 to 0.1 % on bare " +
			"metal (estimate)",
		See:  "cat /sys/devices/system/cpu/nohz_full",
		Boot: "nohz_full={R}",
	}, {
		ID: "irq-affinity", Title: "device interrupts", Severity: api.SeverityS1,
		Wanted: "no interrupt goes to CPU {R}; the mask in /proc/irq/default_smp_affinity is {HM}",
		Effect: "a handler's time is taken from the run; a busy disk or network card raises thousands of interrupts a " +
			"second (kernel documentation, cpu-isolation)",
		Values: []Value{
			{Pattern: "/proc/irq/default_smp_affinity", Kind: Mask, To: "{HM}", Want: maskWithoutReserved},
			{Pattern: "/proc/irq/[0-9]*/smp_affinity_list", Kind: List, To: "{H}", Want: listWithoutReserved,
				MayRefuse: true},
		},
		See:  "grep . /proc/irq/default_smp_affinity /proc/irq/*/effective_affinity_list",
		Boot: "irqaffinity={H} isolcpus=managed_irq,...",
		Risk: "fewer CPUs serve devices; irqbalance, where it runs, moves interrupts back",
	}, {
		ID: "partition-valid", Title: "valid partitions", Severity: api.SeverityS1,
		Wanted: "cpuset.cpus.partition of every cgroup with CPU {R} reads root or isolated, not invalid",
		Effect: "an invalid partition isolates nothing, although the write that made it succeeded: spread of 20 runs " +
			"375 -> 2230 ms (published experiment)",
		See: "grep . /sys/fs/cgroup/*/cpuset.cpus.partition",
		Run: []string{"cat " + partition + "   # shows the reason in parentheses; only cgroup v2 has partitions",
			"systemctl set-property --runtime system.slice AllowedCPUs={H}", SetFile("member", partition),
			SetFile("{P}", partition),
			CheckPartition("/sys/fs/cgroup/judged")},
		NotTuned: "tune keeps no partition that the kernel calls invalid, and a broken one of another program belongs " +
			"to it",
	}, {
		ID: "autogroup", Title: "automatic groups of the scheduler", Severity: api.SeverityS2,
		Wanted: "off, or CPU {R} isolated",
		Effect: "nice has no effect between sessions: 937 ms wall time with nice -20, 957 without (measured)",
		Values: []Value{{Pattern: "/proc/sys/kernel/sched_autogroup_enabled", Kind: Word, To: "0", Wrong: Warns}},
		Boot:   "noautogroup",
		Risk:   "sessions on the other CPUs share them by nice alone",
	}, {
		ID: "rt-throttle", Title: "real-time tasks on reserved CPUs", Severity: api.SeverityS1,
		Wanted: "no task of policy SCHED_FIFO or SCHED_RR, except the kernel's own, may run on CPU {R}",
		Effect: "such a task keeps a run off its CPU for up to 950 ms of each second (kernel documentation, " +
			"sched-rt-group)",
		See:  "ps -eLo cls,psr,comm | grep -E 'FF|RR'",
		Run:  []string{"judged tune apply --cpus {R} --only user-tasks"},
		Boot: "CPUAffinity={H} in /etc/systemd/system.conf", TunedBy: "user-tasks",
	}}
}

// CheckPartition returns a command that shows the state of a partition and fails if it is invalid.
func CheckPartition(group string) string {
	file := group + "/cpuset.cpus.partition"
	return "cat " + file + "; grep -qx {P} " + file + "   # fails if the partition is invalid"
}

func tickSettings() []Setting {
	return []Setting{{
		ID: "rcu-offload", Title: "offloaded RCU callbacks", Severity: api.SeverityS3,
		Wanted: "threads rcuop/N for every N of CPU {R}, allowed on CPU {H} only",
		Effect: "callbacks of other kernel work run as soft interrupts during a run: below 0.1 % (estimate)",
		See:    "for p in $(pgrep rcuo); do taskset -cp $p; done",
		Run:    []string{"pgrep rcuo | xargs -n 1 taskset -cp {H}   # once the threads exist"},
		Boot:   "rcu_nocbs={R} (implied by nohz_full={R})", TunedBy: "kthreads",
	}, {
		ID: "rlimit-cpu", Title: "inherited limit of CPU time", Severity: api.SeverityS2,
		Wanted: "Max cpu time of judged is unlimited",
		Effect: "its timer turns the tick back on: 499 ticks instead of 0 in 2 s (measured), and the kernel kills " +
			"runs",
		See:      "grep 'Max cpu time' /proc/$(pidof -s judged)/limits",
		Run:      []string{"prlimit --cpu=unlimited --pid $(pidof -s judged)"},
		Boot:     "no LimitCPU= in judged's unit and no cpu line in /etc/security/limits.conf",
		NotTuned: "it is a limit of judged's own process, set by its unit; runs get none",
	}, {
		ID: "fair-server", Title: "deadline server of the scheduler", Severity: api.SeverityS2,
		Wanted: "runtime 0 in /sys/kernel/debug/sched/fair_server/cpuN of CPU {R}",
		Effect: "since Linux 6.12 its timer can restart the tick of a nohz_full CPU: 0.6 % at 250 Hz (NV-Kernels issue " +
			"400; cost of a tick measured)",
		Values: []Value{{Pattern: "/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime", Kind: Word, To: "0",
			Wrong: Warns}},
		Risk: "a real-time task that never sleeps starves the ordinary tasks of a reserved CPU",
	}, {
		ID: "tick-probe", Title: "ticks on CPUs without a tick", Severity: api.SeverityS2,
		Wanted: "at most 5 timer interrupts for a second of work on CPU {R} since boot",
		Effect: "17 us for each of 250 ticks a second, 0.6 % (measured); a second task or a timer keeps the tick on",
		See:    "grep LOC: /proc/interrupts",
		Run: []string{"echo 1 > /sys/kernel/tracing/events/timer/tick_stop/enable; cat " +
			"/sys/kernel/tracing/trace_pipe   # shows the cause"},
	}, {
		ID: "watchdogs", Title: "watchdogs", Severity: api.SeverityS3,
		Wanted: "nmi_watchdog 0; a soft watchdog on CPU {H} only",
		Effect: "a timer and a thread on each CPU every 4 s, and one hardware counter less: below 0.01 % (estimate)",
		Values: []Value{
			{Pattern: "/proc/sys/kernel/nmi_watchdog", Kind: Word, To: "0", Wrong: Warns},
			{Pattern: "/proc/sys/kernel/watchdog_cpumask", Kind: List, To: "{H}", Want: listWithoutReserved,
				Wrong: Warns},
		},
		Boot: "nmi_watchdog=0 nowatchdog",
		Risk: "a hang of a reserved CPU is noticed later or not at all",
	}, {
		ID: "housekeeping-timers", Title: "timers of the kernel's housekeeping", Severity: api.SeverityS3,
		Wanted: "vm.stat_interval 10 or more, kernel.timer_migration 0",
		Effect: "each CPU folds memory statistics every second, and timers of other CPUs migrate to it: below 0.01 % " +
			"(estimate; values as in tuned's cpu-partitioning)",
		Values: []Value{
			{Pattern: "/proc/sys/vm/stat_interval", Kind: Word, To: "10", Want: atLeast(10), Wrong: Warns},
			{Pattern: "/proc/sys/kernel/timer_migration", Kind: Word, To: "0", Wrong: Warns},
		},
		Boot: "vm.stat_interval=10 and kernel.timer_migration=0 in /etc/sysctl.d; skew_tick=1 on the kernel command " +
			"line",
		Risk: "memory statistics lag by up to 10 s; sleeping CPUs wake for their own timers",
	}}
}

func interruptSettings() []Setting {
	const workers = "/sys/devices/virtual/workqueue"
	return []Setting{{
		ID: "irq-managed", Title: "queues of disks and network cards", Severity: api.SeverityS2,
		Wanted: "managed_irq in isolcpus=, or no queue of a device on CPU {R}",
		Effect: "these interrupts cannot be moved at run time; each costs the run its handler, 2 to 10 us (estimate)",
		See:    "grep -E 'nvme|TxRx|-rx-|-tx-|input|output|req' /proc/interrupts",
		Run:    []string{"cd /sys/class/net && for d in */device; do ethtool -L $(dirname $d) combined 1; done"},
		Boot:   "isolcpus=managed_irq,domain,{R}; nvme.write_queues=1 for disks",
	}, {
		ID: "irqbalance", Title: "irqbalance", Severity: api.SeverityS2,
		Wanted:   "not running, or with CPU {R} in IRQBALANCE_BANNED_CPULIST",
		Effect:   "every 10 s it may move interrupts back to reserved CPUs (its manual page)",
		See:      "pgrep -a irqbalance",
		Run:      []string{"systemctl stop irqbalance"},
		Boot:     "IRQBALANCE_BANNED_CPULIST={R} in /etc/default/irqbalance, or systemctl disable irqbalance",
		NotTuned: "it is a service, not a value: stop it, or ban the CPUs in its settings, or it moves interrupts back",
	}, {
		ID: "net-rps-xps", Title: "steering of network packets", Severity: api.SeverityS3,
		Wanted: "no rps_cpus and no xps_cpus of a network device names CPU {R}",
		Effect: "a soft interrupt on the CPU that is named handles the packets: 1 to 5 us each (estimate)",
		Values: []Value{
			{Pattern: "/sys/class/net/*/queues/rx-*/rps_cpus", Kind: Mask, To: "0", Want: receiveMask, MayRefuse: true,
				Wrong: Warns},
			{Pattern: "/sys/class/net/*/queues/tx-*/xps_cpus", Kind: Mask, To: "{HM}", Want: transmitMask,
				MayRefuse: true, Wrong: Warns},
		},
		Risk: "fewer CPUs handle packets",
	}, {
		ID: "wq-unbound", Title: "unbound kernel workers", Severity: api.SeverityS2,
		Wanted: workers + "/cpumask and the masks below it are {HM} or less",
		Effect: "writeback, crypto and storage workers preempt the run for 10 us to 1 ms at a time (measured)",
		Values: []Value{
			{Pattern: workers + "/cpumask", Kind: Mask, To: "{HM}", Want: maskWithoutReserved, Wrong: Fails},
			{Pattern: workers + "/*/cpumask", Kind: Mask, To: "{HM}", Want: maskWithoutReserved, Wrong: Warns},
		},
		Boot: "isolcpus=domain,{R} or nohz_full={R}: the kernel then starts with this mask",
		Risk: "fewer CPUs do the kernel's deferred work",
	}}
}

func taskSettings() []Setting {
	return []Setting{{
		ID: "user-tasks", Title: "tasks of other programs on reserved CPUs", Severity: api.SeverityS1,
		Wanted: "no task of another program may run on CPU {R}",
		Effect: "a task on the same core takes wall time from the run and evicts its cache lines: wall spread 58 to 197 " +
			"% for a sieve (measured)",
		See:  "ps -eLo psr,pid,comm | sort -n",
		Run:  []string{"judged tune apply --cpus {R} --only user-tasks"},
		Boot: "CPUAffinity={H} in /etc/systemd/system.conf",
		Risk: "a task that was bound to reserved CPUs runs elsewhere; what it starts inherits that, and keeps it after " +
			"restore",
	}, {
		ID: "kthreads", Title: "kernel threads on reserved CPUs", Severity: api.SeverityS2,
		Wanted: "only threads that belong to the CPU, such as ksoftirqd and migration, on CPU {R}",
		Effect: "writeback, memory reclaim and unbound workers preempt the run for 10 us to 1 ms at a time (measured)",
		See:    "ps --ppid 2 -o psr,comm | sort -n",
		Run: []string{"pgrep -P 2 | xargs -n 1 taskset -cp {H}   # those that are bound to a CPU refuse",
			"echo {HM} > /sys/devices/virtual/workqueue/cpumask"},
		Boot: "isolcpus=domain,{R} nohz_full={R}: new kernel threads then start on the other CPUs",
		Risk: "memory of a reserved node is reclaimed from CPUs of another node",
	}, {
		ID: "daemon-placement", Title: "judged's own threads", Severity: api.SeverityS1,
		Wanted: "all threads of the daemon on CPU {H}",
		Effect: "the daemon's garbage collector, queue and HTTP run during measurements: 15 to 50 us and a cold cache " +
			"each time (estimate)",
		See:      "taskset -acp $(pidof -s judged)",
		Run:      []string{"pgrep -x judged | xargs -n 1 taskset -acp {H}"},
		Boot:     "CPUAffinity={H} in judged's unit",
		NotTuned: "the daemon moves its own threads when it starts",
	}}
}
