/* Proves that output of exactly the limit, 64 KiB, is not more than allowed. */
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
	int n = printf("%lld", sum());
	while (n++ < 64 * 1024)
		putchar('\n');
	return 0;
}
