/* A fork bomb, in which every process forks and computes. Bounded to 2000 processes
 * and 20 s where nothing else ends it. What must stop it: pids.max of the cgroup, its
 * CPU time, and the end of the pid namespace, which no fork can outrun. */
#include "burn.h"
#include <sys/mman.h>

int main(void)
{
	int *born = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (born == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	double end = seconds(CLOCK_MONOTONIC) + 20;
	while (seconds(CLOCK_MONOTONIC) < end) {
		if (__atomic_add_fetch(born, 1, __ATOMIC_RELAXED) > 2000)
			spin();
		if (fork() < 0)
			__atomic_sub_fetch(born, 1, __ATOMIC_RELAXED);
	}
	broke("ran for 20 s");
}
