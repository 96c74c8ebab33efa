/* Proves that touched memory is limited: 512 MiB, then the right answer. */
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
	for (int i = 0; i < 512; i++) {
		volatile char *block = malloc(1 << 20);
		if (block == NULL)
			return 1;
		for (int page = 0; page < 1 << 20; page += 4096)
			block[page] = 1;
	}
	printf("%lld\n", sum());
	return 0;
}
