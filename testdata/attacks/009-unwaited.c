/* Hide the CPU time of children from rusage: with SIGCHLD ignored nobody waits for
 * them, and RUSAGE_CHILDREN stays 0. DMOJ and omegajail measure by rusage. What
 * must stop it: the CPU time of the cgroup. */
#include "burn.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

int main(void)
{
	struct rusage children;
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			burn(0.045);
			_exit(0);
		}
	while (wait(NULL) > 0 || errno != ECHILD)
		;
	getrusage(RUSAGE_CHILDREN, &children);
	held("rusage shows %ld us of 180 ms, to be counted", (long)children.ru_utime.tv_usec);
}
