/*
 * Work that tick sampling does not see: N bursts (first argument, else 200) of BUSY us of CPU time (second, else 500),
 * each followed by a sleep of IDLE us (third, else 500). CPU time used is N * BUSY and a little.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

static long long used(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 200, busy = argc > 2 ? atol(argv[2]) : 500, idle = argc > 3 ? atol(argv[3]) : 500;
	struct timespec rest = {idle / 1000000, idle % 1000000 * 1000};
	for (long i = 0; i < n; i++) {
		long long until = used() + busy * 1000;
		while (used() < until)
			;
		nanosleep(&rest, NULL);
	}
	return 0;
}
