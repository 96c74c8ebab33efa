/* Proves that address space costs nothing: 1 TiB is reserved, one page of it touched. */
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
	char *space = mmap(NULL, 1UL << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space == MAP_FAILED)
		return 1;
	space[1UL << 39] = 1;
	printf("%lld\n", sum());
	return 0;
}
