// Package evidence finds what disturbed a run. It reads the counters of the slot's CPUs before and after it (Reader,
// Snapshot), subtracts the run itself (Between), names the causes (Causes), and computes the most time that was added
// by causes that no program can produce by itself (Explain).
//
//	before := reader.Snapshot()      run the program       after := reader.Snapshot()
//	                 \____________________ Between ____________________/
//	                                          |
//	                            api.Evidence -+- Causes  -> []api.Cause
//	                                          +- Explain -> api.Explained
//
// The package has the sources below, their parsers and the thresholds. Not here: what the sandbox knows about the run
// itself, which is passed in as Facts, and time limits. If the limit affected whether a run counts as disturbed,
// repeating disturbed runs would bias the verdict.
//
// The thresholds are static at first (DefaultThresholds). Later they are learned from reference kernels on the host
// (Thresholds.Learned).
//
// Every source is optional. The values of a missing source are absent from the evidence, never 0:
//
//	/proc/schedstat, cpuN, field 7      time that tasks ran on the CPU       foreign time, neighbours
//	cpuacct.usage_percpu of the v1 root the same, where schedstat is missing  foreign time, neighbours
//	/proc/stat, cpuN                    steal, irq and softirq, in ticks      steal time, interrupts
//	/proc/stat, cpuN                    user and nice, in ticks               foreign user time, neighbours
//	cpu.stat of the groups above the run time that their quotas stopped it       throttled time
//	/proc/interrupts, /proc/softirqs    the slot's columns                    interrupts
//	thermal_throttle/*_throttle_count   core and package                      interrupts
//	/proc/vmstat, where there is swap   the whole host                        swapped pages, compaction
//	/proc/2/task/2/children, schedstat  the kernel's threads, near a limit    foreign system time
//	perf, software                      switches and arrivals on the CPUs     cpu_switches, cpu_arrivals
//	perf, msr: aperf, mperf, smi        the CPUs                              frequency ratio, smis
//	perf, the core's own unit           the CPUs, without the kernel          instructions, cycles, misses
//	/sys/fs/resctrl, mon_data           all users of the slot's L3            l3 traffic, remote, occupancy
//
// Facts has what the sandbox reads from the run's control group: cpu.stat, cpu.pressure and irq.pressure, memory.stat
// and memory.events (both on v2). How long the run waited for others (Facts.Waited) is known on every kernel.
//
// api.Evidence.Interrupts holds the rows of /proc/interrupts under their upper-case names, and further counts under
// lower-case names: "device" (numbered rows), "irq_ticks" and "softirq_ticks" (time in interrupt handlers, in ticks of
// 10 ms), "softirq_net" and "softirq_block" (deferred work), "core_throttles" and "package_throttles".
//
// The causes and when a run has them (Thresholds has the figures, api.Catalogue the descriptions):
//
//	wait       the run was ready to run, as far as others can have used the CPU in that time
//	foreign    time of other programs on the slot's CPUs, in user mode; in kernel mode of a run that reached a limit
//	steal      a tick of it
//	migrated   of a run on one CPU
//	irq        devices, NMIs, machine checks, time in handlers, irq.pressure
//	tick       timer interrupts beyond the kernel's rate and the run's own sleeps
//	ipi        calls from other CPUs, on a slot of one CPU
//	throttle   of the core or the package because of heat; of a cgroup by its quota
//	majfault   a page read from a disk
//	faultcost  system time per page fault, where faults take most of it
//	preempted  involuntary switches that others can have caused
//	softirq    deferred work of networks and disks on the slot's CPUs
//	frequency  more than 0.3 % below or above the planned one
//	smi        more than one a second
//	swap       the host swapped
//	refault    pages were read again that were not evicted because of the run's limit
//	remote     pages were moved between nodes, or over 1 % of the L3's traffic went to other nodes
//	neighbours other CPUs of the slot's cache and memory domain ran other programs than judged's
//
// The other members of the evidence are for information. Compaction for the run itself affects the cost of its faults.
// A deterministic program has the same instruction count in each run, so a difference in time is caused by its
// environment.
//
// Neighbours in the shared cache and on the memory bus lengthen CPU time and leave no trace in the run's own counters.
// Without a performance monitoring unit or resctrl their busy time is the only evidence. Other guests on the same
// machine leave no evidence at all.
package evidence
