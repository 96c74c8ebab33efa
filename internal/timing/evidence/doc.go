// Package evidence says what disturbed a run: it counts what happened on a slot's CPUs before and
// after (Reader, Snapshot), subtracts the run itself (Between), names the causes (Causes), and
// bounds the time that those can have added which no program can produce by itself (Explain).
//
//	before := reader.Snapshot()      run the program       after := reader.Snapshot()
//	                 \____________________ Between ____________________/
//	                                          |
//	                            job.Evidence -+- Causes  -> []job.Cause
//	                                          +- Explain -> job.Explained
//
// Belongs here: the sources below, their parsers, the thresholds. Does not belong here: what the
// sandbox knows of the run itself (it comes in as Facts), and any time limit: whether a run was
// disturbed must not depend on whether it was fast enough, or repeating disturbed runs would bias
// the verdict.
//
// The thresholds are static at first (DefaultThresholds); canaries teach what is ordinary on a host
// (Thresholds.Learned).
//
// The sources, each optional. One that a host does not have is left out, and what it would say is
// absent from the evidence, never 0:
//
//	/proc/schedstat, cpuN, field 7      time that tasks ran on the CPU       foreign time
//	cpuacct.usage_percpu of the v1 root the same, where schedstat is missing  foreign time
//	/proc/stat, cpuN                    steal, irq and softirq, in ticks      steal time, interrupts
//	/proc/stat, cpuN                    user and nice, in ticks               foreign user time, neighbours
//	cpu.stat of the groups above the run time that their quotas stopped it       throttled time
//	/proc/interrupts, /proc/softirqs    the slot's columns                    interrupts
//	thermal_throttle/*_throttle_count   core and package                      interrupts
//	/proc/vmstat, where there is swap   the whole host                        swapped pages, compaction
//	perf, software                      switches and arrivals on the CPUs     cpu_switches, cpu_arrivals
//	perf, msr: aperf, mperf, smi        the CPUs                              frequency ratio, smis
//	perf, the core's own unit           the CPUs, without the kernel          instructions, cycles, misses
//	/sys/fs/resctrl, mon_data           everybody behind the slot's L3        l3 traffic, remote, occupancy
//
// What the sandbox reads of the run's own control group comes in as Facts: cpu.stat, cpu.pressure and
// irq.pressure, memory.stat and memory.events (both on v2).
//
// job.Evidence.Interrupts holds the rows of /proc/interrupts by their upper-case names, and beside
// them counts under lower-case names: "device" (numbered rows), "irq_ticks" and "softirq_ticks" (time
// in interrupt handlers, in ticks of 10 ms), "softirq_net" and "softirq_block" (deferred work),
// "core_throttles" and "package_throttles".
//
// The causes, and what makes them (Thresholds has the figures):
//
//	wait       run delay or cpu.pressure, as far as others had the time for it
//	foreign    time of other programs on the slot's CPUs, in user mode
//	steal      a tick of it
//	migrated   of a run on one CPU
//	irq        devices, NMIs, machine checks, time in handlers, irq.pressure
//	tick       timer interrupts beyond the kernel's rate and the run's own sleeping
//	ipi        calls from other CPUs, on a slot of one CPU
//	throttle   by heat, of the core or the package; by the cgroup
//	majfault   a page that came from a disk
//	faultcost  system time for each page fault, where faults are most of it
//	preempted  involuntary switches that others can have made
//	softirq    deferred work of networks and disks on the slot's CPUs
//	frequency  off the plan by more than 0.3 %, slower or faster
//	smi        more than one a second
//	swap       the host swapped
//	refault    pages came back that the run's own limit had not thrown out
//	remote     pages were moved between nodes; over 1 % of the L3's traffic went to other nodes
//	neighbours other CPUs of the slot's cache and memory domain ran programs that are not judged's
//
// The other members only tell. Compaction shows in the price of faults when it is the run's own; a
// program that repeats itself has the same instructions, so other times are the surroundings'.
//
// Neighbours in the shared cache and on the memory bus lengthen CPU time and leave no trace in the
// run's own counters. Without a performance monitoring unit or resctrl their busy time is the only
// witness, and for other guests of the same machine there is no witness.
package evidence
