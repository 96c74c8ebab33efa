/* A chain of process groups: each child computes for some milliseconds, stops its
 * elder and is stopped by its younger. No process uses much, and the first none. What
 * must stop it: the time of the control group counts. */
#include "attack.h"
#include <signal.h>
#include <time.h>

int main(void)
{
	pid_t elder = 0;
	for (;;) {
		pid_t pid = fork();
		if (pid < 0) {
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
			continue;
		}
		if (pid == 0) {
			setpgid(0, 0);
			if (elder)
				kill(-elder, SIGSTOP);
			clock_t end = clock() + CLOCKS_PER_SEC / 200;
			while (clock() < end)
				;
			if (elder)
				kill(-elder, SIGKILL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		elder = pid;
	}
}
