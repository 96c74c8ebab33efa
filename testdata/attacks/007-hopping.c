/* Outlive the run: the first process exits at once and leaves processes in
 * sessions of their own, which never stand still: each forks its successor and
 * exits, so that a killer who lists pids and then signals always comes late.
 * What must stop it: the end of process 1, which closes the pid namespace to forks
 * before it kills. cgroup.kill misses a child in one run of a hundred (Linux 6.18),
 * which then hops on for its 10 s: found by this program. */
#include "burn.h"
#include <signal.h>
#include <sys/prctl.h>

static void hop(void)
{
	double end = seconds(CLOCK_MONOTONIC) + 10; /* where nothing else ends it */
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	setsid();
	while (seconds(CLOCK_MONOTONIC) < end) {
		pid_t pid = fork();
		if (pid > 0)
			_exit(0);
		if (pid == 0)
			setpgid(0, 0);
	}
	_exit(0);
}

int main(void)
{
	for (int i = 0; i < 8; i++)
		if (fork() == 0)
			hop();
	held("left 8 processes that hop from pid to pid");
}
