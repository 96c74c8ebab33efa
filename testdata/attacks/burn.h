/* CPU time for attacks that want to be counted, or not to be. */
#ifndef BURN_H
#define BURN_H

#include "attack.h"
#include <time.h>

__attribute__((unused)) static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* burn uses CPU time of the calling thread, by the kernel's count. */
__attribute__((unused)) static void burn(double cpu)
{
	double end = seconds(CLOCK_THREAD_CPUTIME_ID) + cpu;
	while (seconds(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

/* spin goes on until something ends it. 20 s are far above every limit here. */
__attribute__((noreturn, unused)) static void spin(void)
{
	double end = seconds(CLOCK_MONOTONIC) + 20;
	while (seconds(CLOCK_MONOTONIC) < end)
		;
	broke("ran for 20 s");
}

#endif
