/* Proves that children count which nobody waits for (getrusage does not see them): four, one after the other. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long sum(void)
{
	long long n, x, total = 0;
	if (scanf("%lld", &n) != 1)
		return 0;
	while (n-- > 0 && scanf("%lld", &x) == 1)
		total += x;
	return total;
}

static void burn(void)
{
	struct timespec used;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < 150 * 1000 * 1000);
}

int main(void)
{
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 4; i++) {
		if (fork() == 0) {
			burn();
			_exit(0);
		}
		wait(NULL); /* returns when the child is gone, without its times */
	}
	printf("%lld\n", sum());
	return 0;
}
