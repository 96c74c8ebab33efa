/* Proves that a program that works a little all the time is not called idle: 3 ms of every 10. */
#define _GNU_SOURCE
#include <time.h>

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void)
{
	for (;;) {
		struct timespec rest = {0, 7 * 1000 * 1000};
		long long until = now() + 3 * 1000 * 1000;
		while (now() < until)
			;
		nanosleep(&rest, NULL);
	}
}
