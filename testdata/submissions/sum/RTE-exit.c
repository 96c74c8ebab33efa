/* Proves that a non-zero exit code is told, even after the right answer. */
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
	printf("%lld\n", sum());
	return 3;
}
