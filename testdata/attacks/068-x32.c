/* Makes calls of the x32 ABI: the same architecture to a filter, numbers with
 * bit 30 set, and a block of its own from 512. A deny list that compares plain
 * numbers misses all of them. What must stop it: seccomp kills x32. */
#include "attack.h"

#define X32 0x40000000L

static long number;

static void attempt(void)
{
	long result = syscall(number, 0x10000000, 0, 0, 0, 0, 0);
	if (result >= 0)
		broke("call %#lx returned %ld", number, result);
	printf("call %#lx: %s\n", number, strerror(errno));
}

int main(void)
{
	/* getpid, unshare, x32's own ptrace and execve, and bits above 32. */
	const long each[] = {X32 | 39, X32 | 272, X32 | 521, X32 | 520, X32 | 39 | 1L << 40, 0x80000000L | 39};
	for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
		number = each[i];
		apart(attempt, "x32");
	}
	number = X32 | 39;
	attempt();
	held("no x32");
}
