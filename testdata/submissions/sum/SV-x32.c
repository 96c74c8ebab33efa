/* Proves that the x32 numbers of calls are closed: getpid with bit 30 set. (x86-64 only) */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	syscall(0x40000000 | SYS_getpid);
	printf("%lld\n", sum());
	return 0;
}
