/* Sink below everybody: the kernel lets every process become SCHED_IDLE,
 * SCHED_BATCH or nice 19, or choose its own time slice (Linux 6.12). Then other
 * work on the CPU decides the wall time, ticks preempt differently, and the policy
 * that judged toggles to read exact CPU time is not what it was. What must stop it:
 * seccomp, and nothing else. */
#include "attack.h"
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>

struct attributes { /* struct sched_attr, first version */
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

int main(void)
{
	struct sched_param none = {0};
	struct attributes slice = {.size = sizeof slice, .policy = SCHED_OTHER, .runtime = 100000000};
	struct attributes idle = {.size = sizeof idle, .policy = SCHED_IDLE};
	refused(sched_setscheduler(0, SCHED_IDLE, &none), "SCHED_IDLE");
	refused(sched_setscheduler(0, SCHED_BATCH, &none), "SCHED_BATCH");
	refused(sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none), "SCHED_RESET_ON_FORK");
	refused(syscall(SYS_sched_setattr, 0, &slice, 0), "a time slice of 100 ms");
	refused(syscall(SYS_sched_setattr, 0, &idle, 0), "SCHED_IDLE by sched_setattr");
	refused(setpriority(PRIO_PROCESS, 0, 19), "nice 19");
	refused(setpriority(PRIO_USER, 0, 19), "nice 19 for the user");
	refused(syscall(SYS_ioprio_set, 1, 0, 3 << 13), "idle I/O priority");
	held("policy %d", sched_getscheduler(0));
}
