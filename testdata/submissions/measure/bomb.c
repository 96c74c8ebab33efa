/*
 * A fork bomb: every process forks for ever, without pause. Each one that comes into being writes one byte to stdout and
 * ends after S seconds (first argument, else 5) at the latest, or at once when it is beyond the first 4096.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atol(argv[1]) : 5;
	atomic_int *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return 1;
	alarm(seconds);
	for (;;) {
		if (fork() != 0)
			continue;
		alarm(seconds); /* is not inherited */
		if (atomic_fetch_add(made, 1) >= 4096 || write(1, "x", 1) != 1)
			_exit(2);
	}
}
