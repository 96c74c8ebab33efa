/* Proves that what a program leaves behind neither holds up its verdict nor survives it: the orphan burns in a session of its own. */
#include <stdio.h>
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

int main(void)
{
	printf("%lld\n", sum());
	fflush(stdout);
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			alarm(30); /* its end where nothing else ends it */
			for (;;)
				;
		}
		_exit(0);
	}
	return 0;
}
