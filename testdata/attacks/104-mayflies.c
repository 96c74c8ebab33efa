/* Work in children that live for a third of a millisecond, so that no tick and no
 * look at the list of threads ever finds one; every other one is killed in the middle
 * by a signal. What must stop it: a CPU accounts a task when it leaves, and the cgroup
 * keeps that. */
#include "burn.h"
#include <signal.h>
#include <sys/wait.h>

int main(void)
{
	for (int i = 0; i < 500; i++) {
		pid_t child = fork();
		if (child < 0)
			broke("cannot try: fork: %s", strerror(errno));
		if (child == 0) {
			burn(0.0003);
			if (i % 2)
				raise(SIGKILL);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	held("500 children used 150 ms, to be counted");
}
