/* Proves that mounting is a violation. */
#include <stdio.h>
#include <sys/mount.h>

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
	mount("none", "/nonexistent", "tmpfs", 0, ""); /* does nothing where it is allowed */
	printf("%lld\n", sum());
	return 0;
}
