/* Proves that memory of the kernel counts: 128 MiB of page tables for reads that share one page of zeros. */
#define _GNU_SOURCE
#include <stddef.h>
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
	size_t size = 64UL << 30, step = 2UL << 20;
	volatile char *space = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space == MAP_FAILED)
		return 1;
	madvise((char *)space, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += step)
		(void)space[i];
	printf("%lld\n", sum());
	return 0;
}
