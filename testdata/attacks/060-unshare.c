/* Asks for new namespaces. A user namespace gives its maker all capabilities
 * in it, and with them kernel code that only root used to reach: CVE-2022-0185
 * (fsconfig), CVE-2023-0386 (overlayfs), CVE-2024-1086 (nftables). The kernel
 * allows it to everybody on most systems: only seccomp stops it. */
#include "attack.h"
#include <sched.h>

static int flags;

static void attempt(void)
{
	if (unshare(flags) == 0)
		broke("unshare(%#x)", flags);
	printf("unshare(%#x): %s\n", flags, strerror(errno));
}

int main(void)
{
	const int each[] = {CLONE_NEWUSER | CLONE_NEWNS, CLONE_NEWUSER | CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID,
		CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP, 0x80 /* CLONE_NEWTIME */};
	for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
		flags = each[i];
		apart(attempt, "unshare");
	}
	if (unshare(CLONE_NEWUSER) == 0)
		broke("a user namespace");
	held("unshare: %s", strerror(errno));
}
