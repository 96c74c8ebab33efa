/* Proves that the key ring, which is not namespaced and would outlive the run, is a violation. */
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
	syscall(SYS_add_key, "user", "note", "42", 2, -1 /* this thread's keyring: gone with it where it is allowed */);
	printf("%lld\n", sum());
	return 0;
}
