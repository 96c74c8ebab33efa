/* Goes through the options of prctl that change how a process is seen, traced,
 * scheduled or measured: PR_SET_MM (what /proc says of it), PR_SCHED_CORE,
 * PR_SET_TSC, PR_SET_MEMORY_MERGE (identical pages of two runs become one: a
 * channel), PR_SET_THP_DISABLE, dumpable, ptracer, speculation, subreaper, and
 * every number besides. What must stop it: seccomp, by a list of what is
 * allowed. */
#include "attack.h"
#include <sys/prctl.h>

int main(void)
{
	static const struct { int option; unsigned long arguments[3]; const char *name; } each[] = {
		{35, {9 /* PR_SET_MM_ARG_END */, 4096, 0}, "PR_SET_MM"},
		{62, {1 /* CREATE */, 0, 0}, "PR_SCHED_CORE"},
		{PR_SET_TSC, {PR_TSC_ENABLE, 0, 0}, "PR_SET_TSC"},
		{67, {1, 0, 0}, "PR_SET_MEMORY_MERGE"},
		{PR_SET_THP_DISABLE, {0, 0, 0}, "PR_SET_THP_DISABLE"},
		{PR_SET_DUMPABLE, {1, 0, 0}, "PR_SET_DUMPABLE"},
		{PR_SET_PTRACER, {-1UL, 0, 0}, "PR_SET_PTRACER"},
		{PR_SET_SECCOMP, {1 /* strict */, 0, 0}, "PR_SET_SECCOMP"},
		{PR_SET_CHILD_SUBREAPER, {1, 0, 0}, "PR_SET_CHILD_SUBREAPER"},
		{PR_SET_TIMERSLACK, {1, 0, 0}, "PR_SET_TIMERSLACK"},
		{PR_SET_SPECULATION_CTRL, {0, 2, 0}, "PR_SET_SPECULATION_CTRL"},
		{59, {0, 0, 0}, "PR_SET_SYSCALL_USER_DISPATCH"},
		{PR_MCE_KILL, {1, 0, 0}, "PR_MCE_KILL"},
		{PR_TASK_PERF_EVENTS_DISABLE, {0, 0, 0}, "PR_TASK_PERF_EVENTS_DISABLE"},
		{PR_SET_UNALIGN, {1, 0, 0}, "PR_SET_UNALIGN"},
		{65, {1, 0, 0}, "PR_SET_MDWE"},
		{57, {1, 0, 0}, "PR_SET_IO_FLUSHER"},
		{71, {1, 0, 0}, "PR_SET_SHADOW_STACK_STATUS"},
		{78, {1, 16, 0}, "PR_FUTEX_HASH"},
	};
	for (size_t i = 0; i < sizeof each / sizeof *each; i++)
		refused(prctl(each[i].option, each[i].arguments[0], each[i].arguments[1], each[i].arguments[2], 0), each[i].name);
	if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) != 1)
		broke("huge pages are on");
	/* Options of later kernels. */
	for (int option = 79; option < 300; option++)
		if (prctl(option, 0, 0, 0, 0) >= 0 || (errno != EPERM && errno != EINVAL))
			broke("option %d is known: %s", option, strerror(errno));
	held("no option that changes anything");
}
