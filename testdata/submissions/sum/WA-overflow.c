/* Proves that the first failing test decides: only the last test needs more than 32 bits. */
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
	printf("%d\n", (int)sum());
	return 0;
}
