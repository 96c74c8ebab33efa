/* Makes its ends of the pipes, and pipes of its own, as large as it may, and fills
 * them. What must stop it: the kernel bounds the size for users without rights, and
 * charges the pages. */
#include "attack.h"

int main(void)
{
	static char block[1 << 16];
	long got = fcntl(1, F_SETPIPE_SZ, 1 << 30), pages = 0;
	if (got > 1 << 20)
		broke("a pipe of %ld bytes", got);
	for (int i = 0; i < 100; i++) {
		int fds[2];
		if (pipe2(fds, O_NONBLOCK) < 0)
			break;
		fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
		ssize_t n;
		while ((n = write(fds[1], block, sizeof block)) > 0)
			pages += n;
		if (pages > 80 << 20)
			broke("%ld MiB in pipes with 32 MiB of memory", pages >> 20);
	}
	held("%ld KiB in pipes", pages >> 10);
}
