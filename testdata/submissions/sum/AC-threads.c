/* Proves that threads work within the limit of processes. */
#include <pthread.h>
#include <stdio.h>

static long long sum(void)
{
	long long n, x, total = 0;
	if (scanf("%lld", &n) != 1)
		return 0;
	while (n-- > 0 && scanf("%lld", &x) == 1)
		total += x;
	return total;
}

static long long total;

static void *work(void *unused)
{
	(void)unused;
	total = sum();
	return NULL;
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	printf("%lld\n", total);
	return 0;
}
