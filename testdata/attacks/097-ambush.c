/* Leaves processes behind that wait for the next run's parked child, to signal
 * it before it goes; the next run looks for them. What must stop it: the pid
 * namespace ends with process 1 of the run, and nothing of a run is alive when
 * the next one begins. */
#include "attack.h"
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

static void lie_in_wait(void)
{
	for (int i = 0; i < 8; i++) {
		if (fork() != 0)
			continue;
		setsid();
		for (int signal_number = 1; signal_number < 65; signal_number++)
			signal(signal_number, SIG_IGN);
		for (int round = 0; round < 500; round++) { /* 5 s */
			for (pid_t pid = 2; pid < 64; pid++)
				kill(pid, 0);
			nanosleep(&(struct timespec){0, 10000000}, NULL);
		}
		_exit(0);
	}
	held("eight processes wait");
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "wait") == 0)
		lie_in_wait();
	for (pid_t pid = 2; pid < 1000; pid++)
		if (pid != getpid() && (kill(pid, 0) == 0 || errno != ESRCH))
			broke("process %d is here too", pid);
	struct rusage children;
	getrusage(RUSAGE_CHILDREN, &children);
	if (wait(NULL) >= 0 || errno != ECHILD || children.ru_utime.tv_usec + children.ru_stime.tv_usec > 0)
		broke("there was a child before the first fork");
	held("alone");
}
