/* Makes judged write cgroup.kill, by children that outlive the first process:
 * in kernels after 6.1 every process that is later born into the same group
 * dies at birth, so a judge that keeps its groups is dead from then on. What
 * must stop it: a fresh group for every run. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(7);
		int status;
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
			broke("a child died at birth: status %#x", status);
	}
	for (int i = 0; i < 5; i++)
		if (fork() == 0) {
			setsid();
			signal(SIGTERM, SIG_IGN);
			sleep(5);
			_exit(0);
		}
	held("children live, and are left for cgroup.kill");
}
