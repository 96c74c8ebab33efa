/* Divide the work among four children, none of which uses much. What must stop it:
 * the CPU limit is the cgroup's. RLIMIT_CPU is per process and would never fire. */
#include "burn.h"
#include <sys/wait.h>

int main(void)
{
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			burn(0.045);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	held("four children used 180 ms, to be counted");
}
