// Package evidence says what disturbed a run: it counts what happened on a slot's CPUs before and
// after (Reader, Snapshot), subtracts the run itself (Between) and names the causes (Causes).
//
//	before := reader.Snapshot()      run the program       after := reader.Snapshot()
//	                 \____________________ Between ____________________/
//	                                          |
//	                            job.Evidence -+- Causes -> []job.Cause
//
// Belongs here: the sources below, their parsers, the thresholds. Does not belong here: what the
// sandbox knows of the run itself (it comes in as Facts), and any time limit: whether a run was
// disturbed must not depend on whether it was fast enough, or repeating disturbed runs would bias
// the verdict.
//
// The thresholds are static at first (DefaultThresholds); canaries teach what is ordinary on a host
// (Thresholds.Learned).
//
// The sources, each optional:
//
//	/proc/schedstat, cpuN, field 7      time that tasks ran on the CPU       foreign time
//	cpuacct.usage_percpu of the v1 root the same, where schedstat is missing  foreign time
//	/proc/stat, cpuN                    steal, irq and softirq, in ticks      steal time
//	/proc/interrupts                    the slot's columns                    interrupts
//	thermal_throttle/core_throttle_count                                      interrupts
//
// job.Evidence.Interrupts holds the rows of /proc/interrupts by their upper-case names, and beside
// them four counts under lower-case names: "device" (numbered rows), "irq_ticks" and
// "softirq_ticks" (time in interrupt handlers, in ticks of 10 ms), "core_throttles".
//
// What no source here shows: neighbours in the shared cache and on the memory bus. They lengthen CPU
// time and leave no trace without a performance monitoring unit.
package evidence
