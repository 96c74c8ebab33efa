/* End in the same moment in which judged looks: its kill comes at 200 ms of CPU time
 * for a limit of 100, so work in two processes and have them exit within
 * microseconds of that. Then the program has ended by itself, the kill finds nobody,
 * and judged may hold the wrong process, or no reason. What must stop it: the final
 * counter decides, not who was faster; a pidfd cannot mean another process. */
#include "burn.h"
#include <sys/mman.h>

int main(void)
{
	double *used = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (used == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	int child = fork() == 0;
	double end = seconds(CLOCK_MONOTONIC) + 20;
	while (used[0] + used[1] < 0.1995 && seconds(CLOCK_MONOTONIC) < end)
		used[child] = seconds(CLOCK_PROCESS_CPUTIME_ID);
	_exit(0);
}
