/* Let a daemon do the work: fork, leave the session, fork, close everything but a
 * pipe. Its CPU time is in nobody's rusage, the first process just reads. What
 * must stop it: the cgroup counts every process whatever its family. */
#include "burn.h"
#include <sys/wait.h>

static void daemonize(int done)
{
	if (fork() != 0)
		_exit(0);
	setsid();
	if (fork() != 0)
		_exit(0);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	burn(0.150);
	ssize_t written = write(done, "", 1);
	_exit(written != 1);
}

int main(void)
{
	int done[2];
	char byte;
	if (pipe(done) != 0)
		broke("cannot try: pipe: %s", strerror(errno));
	if (fork() == 0)
		daemonize(done[1]);
	wait(NULL);
	if (read(done[0], &byte, 1) != 1)
		broke("cannot try: read: %s", strerror(errno));
	held("a daemon used 150 ms, to be counted");
}
