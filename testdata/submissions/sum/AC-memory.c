/* Proves that 40 MiB, touched and given back, fit in 64 and are in the reported peak. */
#include <stdio.h>
#include <stdlib.h>

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
	volatile char *block = malloc(40 << 20);
	if (block == NULL)
		return 1;
	for (int page = 0; page < 40 << 20; page += 4096)
		block[page] = 1;
	free((char *)block);
	printf("%lld\n", sum());
	return 0;
}
