/* Hold memory in pipes: 64 KiB each, as many as there are descriptors, in eight
 * processes, and a megabyte each where F_SETPIPE_SZ is allowed. None of it is RSS.
 * What must stop it: RLIMIT_NOFILE, seccomp for the size, and the memory cgroup
 * counts the buffers. */
#include "attack.h"
#include <fcntl.h>
#include <sys/wait.h>

static void fill(void)
{
	static char block[65536];
	int ends[2], pipes = 0;
	while (pipes < 1000 && pipe2(ends, O_NONBLOCK) == 0) {
		if (fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) >= 0)
			broke("a pipe of 1 MiB");
		while (write(ends[1], block, sizeof block) > 0)
			;
		pipes++;
	}
	if (pipes == 1000)
		broke("%d pipes in one process", pipes);
}

int main(void)
{
	int status;
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			fill();
			sleep(1); /* until all have theirs */
			_exit(0);
		}
	while (wait(&status) > 0)
		if (WIFEXITED(status) && WEXITSTATUS(status) == BROKE_STATUS)
			broke("a child got through");
	held("eight processes held 60 MiB, to be counted");
}
