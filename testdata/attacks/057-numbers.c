/* Moves the numbers that the kernel gives out: 300 processes push the next pid
 * up, and the following run looks whether its own numbers, or the names of its
 * control groups, tell of it. What must stop it: a fresh pid and cgroup
 * namespace for every run. */
#include "attack.h"
#include <sys/resource.h>

static void send(void)
{
	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	held("used 300 pids");
}

int main(int argc, char **argv)
{
	char line[256];
	if (argc > 1 && strcmp(argv[1], "send") == 0)
		send();
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	if (getpid() > 10 || child > 10)
		broke("pids %d and %d count the processes of others", getpid(), child);
	FILE *f = fopen("/proc/self/cgroup", "r");
	while (f && fgets(line, sizeof line, f))
		if (strcmp(strrchr(line, ':'), ":/\n") != 0)
			broke("the control group has a name: %s", line);
	if (getsid(0) > 10 || getppid() != 0)
		broke("session %d, parent %d", getsid(0), getppid());
	held("pid %d, child %d, no group's name", getpid(), child);
}
