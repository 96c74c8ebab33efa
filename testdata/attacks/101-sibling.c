/* Become a child of judged: clone with CLONE_PARENT makes a sibling, and the first
 * process of a run is judged's own child. Judged knows nothing of the sibling and does
 * not reap it; the end of the pid namespace waits for its zombie, and judged for that,
 * for ever: found by this program, one submission took a slot out. What must stop it:
 * seccomp, and only that. */
#include "attack.h"
#include <signal.h>
#include <sys/syscall.h>

#define CLONE_PARENT 0x00008000

int main(void)
{
	long sibling = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0L);
	if (sibling == 0)
		_exit(0);
	if (sibling < 0)
		held("clone: %s", strerror(errno));
	usleep(20000);
	broke("judged has a child that it does not know, %ld", sibling);
}
