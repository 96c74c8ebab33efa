/* Proves that tracing is a violation. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/ptrace.h>

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
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	printf("%lld\n", sum());
	return 0;
}
