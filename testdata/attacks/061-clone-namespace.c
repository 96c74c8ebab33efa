/* Asks clone for new namespaces, plainly and with bits in the upper half of the
 * flags, which the kernel cuts off: a filter that compares all 64 bits misses
 * those. What must stop it: seccomp, by the low half. */
#include "attack.h"
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

static unsigned long flags;

static void attempt(void)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		broke("clone(%#lx)", flags);
	printf("clone(%#lx): %s\n", flags, strerror(errno));
}

int main(void)
{
	const unsigned long each[] = {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET,
		CLONE_NEWUSER | CLONE_NEWNET, CLONE_NEWUSER | CLONE_VM, CLONE_NEWUSER | 1UL << 40, CLONE_NEWNS | ~0UL << 32};
	for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
		flags = each[i];
		apart(attempt, "clone");
	}
	flags = CLONE_NEWUSER;
	attempt();
	held("no namespace");
}
