/* Proves that shared memory counts. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

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
	size_t size = 128 << 20;
	volatile char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return 1;
	for (size_t page = 0; page < size; page += 4096)
		block[page] = 1;
	printf("%lld\n", sum());
	return 0;
}
