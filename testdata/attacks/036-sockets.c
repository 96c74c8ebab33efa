/* Hold memory in socket buffers: the pairs that Node and asyncio need are allowed,
 * so fill both directions of each, larger ones where SO_SNDBUF may be set. What must
 * stop it: seccomp for the size, RLIMIT_NOFILE, and the memory cgroup counts what
 * lies in the queues. */
#include "attack.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

static void fill(void)
{
	static char block[32768];
	int pair[2], size = 64 << 20;
	while (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) == 0)
		for (int end = 0; end < 2; end++) {
			if (setsockopt(pair[end], SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0)
				broke("chose the size of a socket's buffer");
			while (send(pair[end], block, sizeof block, 0) > 0)
				;
		}
}

int main(void)
{
	int status;
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			fill();
			sleep(1); /* until all have theirs */
			_exit(0);
		}
	while (wait(&status) > 0)
		if (WIFEXITED(status) && WEXITSTATUS(status) == BROKE_STATUS)
			broke("a child got through");
	held("four processes held 100 MiB, to be counted");
}
