/* Pass the work on: each process burns 10 ms, forks its successor and exits. A
 * fork starts with fresh counters, and an inherited RLIMIT_CPU never fires on a
 * nohz_full CPU. What must stop it: the CPU time of the cgroup keeps that of the
 * dead. */
#include "burn.h"
#include <sys/resource.h>

static void relay(int links)
{
	do
		burn(0.010);
	while (--links > 0 && fork() == 0);
	_exit(0);
}

int main(void)
{
	struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	int alive[2];
	char byte;
	setrlimit(RLIMIT_CPU, &none);
	if (pipe(alive) != 0)
		broke("cannot try: pipe: %s", strerror(errno));
	if (fork() == 0)
		relay(18);
	close(alive[1]);
	if (read(alive[0], &byte, 1) != 0) /* the end of the last one */
		broke("cannot try: read: %s", strerror(errno));
	held("eighteen processes used 180 ms, to be counted");
}
