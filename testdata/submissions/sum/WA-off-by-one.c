/* Proves that a wrong answer is found and quoted. */
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
	printf("%lld\n", sum() + 1);
	return 0;
}
