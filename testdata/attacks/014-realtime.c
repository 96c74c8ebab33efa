/* Rise above everybody on the CPU, judged's supervisor included: every real-time
 * policy, negative nice, the autogroup, I/O priority, and the limits that would
 * permit them. What must stop it: no capabilities, RLIMIT_RTPRIO and RLIMIT_NICE 0,
 * and seccomp before that. */
#include "attack.h"
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>

struct attributes { /* struct sched_attr, second version */
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
	uint32_t util_min, util_max;
};

int main(void)
{
	struct sched_param one = {.sched_priority = 1};
	struct attributes deadline = {.size = sizeof deadline, .policy = 6, .runtime = 9000000, .deadline = 10000000, .period = 10000000};
	struct attributes clamp = {.size = sizeof clamp, .flags = 0x20 | 0x8 | 0x10, .util_min = 1024, .util_max = 1024};
	struct rlimit most = {99, 99};
	refused(setrlimit(RLIMIT_RTPRIO, &most), "setrlimit RTPRIO");
	refused(setrlimit(RLIMIT_NICE, &most), "setrlimit NICE");
	refused(sched_setscheduler(0, SCHED_FIFO, &one), "SCHED_FIFO");
	refused(sched_setscheduler(0, SCHED_RR, &one), "SCHED_RR");
	refused(sched_setparam(0, &one), "sched_setparam");
	refused(syscall(SYS_sched_setattr, 0, &deadline, 0), "SCHED_DEADLINE");
	refused(syscall(SYS_sched_setattr, 0, &clamp, 0), "utilization clamp");
	refused(setpriority(PRIO_PROCESS, 0, -20), "setpriority");
	refused(setpriority(PRIO_PGRP, 0, -1), "setpriority of the group");
	refused(syscall(SYS_ioprio_set, 1, 0, 1 << 13), "ioprio_set");
	int autogroup = open("/proc/self/autogroup", O_WRONLY);
	if (autogroup >= 0)
		refused(write(autogroup, "-20", 3), "write autogroup");
	held("a process like the others");
}
