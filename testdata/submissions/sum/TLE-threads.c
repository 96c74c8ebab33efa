/* Proves that the CPU time of all threads counts: each of four would stay below the limit. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static long long sum(void)
{
	long long n, x, total = 0;
	if (scanf("%lld", &n) != 1)
		return 0;
	while (n-- > 0 && scanf("%lld", &x) == 1)
		total += x;
	return total;
}

static void *burn(void *unused)
{
	struct timespec used;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < 150 * 1000 * 1000);
	return unused;
}

int main(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, burn, NULL) != 0)
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%lld\n", sum());
	return 0;
}
