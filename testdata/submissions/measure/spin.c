/*
 * A load of known shape: THREADS threads (first argument, else 1), each busy for DUTY percent (second, else 100) of every
 * 10 ms, for MS milliseconds of wall time (third, else for ever).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define PERIOD 10000000LL /* ns */

static long long end, busy;

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *load(void *unused)
{
	for (long long start = now(); end == 0 || start < end; start += PERIOD) {
		while (now() < start + busy)
			;
		struct timespec next = {(start + PERIOD) / 1000000000LL, (start + PERIOD) % 1000000000LL};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return unused;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 1, duty = argc > 2 ? atol(argv[2]) : 100, ms = argc > 3 ? atol(argv[3]) : 0;
	pthread_t *thread = calloc((size_t)(threads > 0 ? threads : 1), sizeof *thread);
	if (thread == NULL)
		return 1;
	end = ms == 0 ? 0 : now() + ms * 1000000LL;
	busy = PERIOD * duty / 100;
	for (long i = 1; i < threads; i++)
		if (pthread_create(&thread[i], NULL, load, NULL) != 0)
			return 2;
	load(NULL);
	for (long i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	return 0;
}
