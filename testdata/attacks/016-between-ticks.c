/* Run only between two ticks: burn half a millisecond right after a timer and
 * sleep to the next, so that the tick always finds somebody else. Kernels that
 * sample CPU time at ticks count nothing (Tsafrir, Etsion, Feitelson: "Secretly
 * monopolizing the CPU without superuser privileges", USENIX Security 2007). What
 * must stop it: the cgroup counts execution time in nanoseconds. */
#include "burn.h"

int main(void)
{
	struct timespec next;
	double start = seconds(CLOCK_PROCESS_CPUTIME_ID); /* part of it is judged's, before execve */
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (seconds(CLOCK_PROCESS_CPUTIME_ID) - start < 0.150) {
		next.tv_nsec = (next.tv_nsec / 2000000 + 1) * 2000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		burn(0.0005);
		clock_gettime(CLOCK_MONOTONIC, &next);
	}
	held("used 150 ms in bursts, to be counted");
}
