/* Proves that the 32-bit entry of the kernel, where numbers of calls mean others, is closed: getpid by int 0x80. (x86-64 only) */
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
	int result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
	printf("%lld\n", sum());
	return 0;
}
