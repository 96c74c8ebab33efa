/* Write without end to stdout, deaf to SIGXFSZ, from children too. What must stop
 * it: RLIMIT_FSIZE at one byte over the limit, at which every further write fails,
 * and the verdict comes from the size. */
#include "attack.h"
#include <signal.h>
#include <sys/wait.h>

static void flood(void)
{
	static char block[4096];
	size_t written = 0;
	ssize_t n;
	memset(block, 'x', sizeof block);
	for (int failed = 0; failed < 100 && written < 16 << 20; failed += n < 0)
		if ((n = write(1, block, sizeof block)) > 0)
			written += (size_t)n;
	if (written > 65537)
		broke("wrote %zu bytes", written);
}

int main(void)
{
	int status;
	signal(SIGXFSZ, SIG_IGN);
	flood();
	if (fork() == 0) {
		flood();
		_exit(0);
	}
	wait(&status);
	return WEXITSTATUS(status);
}
