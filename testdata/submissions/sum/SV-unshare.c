/* Proves that a user namespace of its own, the key to most escapes, is a violation. */
#define _GNU_SOURCE
#include <sched.h>
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

int main(void)
{
	unshare(CLONE_NEWUSER);
	printf("%lld\n", sum());
	return 0;
}
