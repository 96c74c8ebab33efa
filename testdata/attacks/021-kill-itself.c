/* Die by the signal that judges kill with, so that the death looks like a limit, or
 * be process 1, which SIGKILL of its own cannot end. What must stop it: counters
 * decide before the wait status, and the program is not process 1. */
#include "attack.h"
#include <signal.h>
#include <sys/wait.h>

int main(void)
{
	int status = 0;
	if (getpid() == 1)
		broke("is process 1");
	pid_t child = fork();
	if (child == 0) {
		raise(SIGTERM);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM)
		broke("a child survived SIGTERM: status %d", status);
	kill(getpid(), SIGKILL);
	broke("survived SIGKILL");
}
