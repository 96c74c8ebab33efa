/* Proves that the checker tokens does not care for white space, lines not for that at line ends; exact does. */
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
	printf("%lld \r\n\n", sum());
	return 0;
}
