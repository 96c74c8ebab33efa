/* A stack without end: ask for an infinite one, execute again so that the limit
 * is applied, and recurse through 1 GiB. What must stop it: the hard limit of
 * RLIMIT_STACK cannot be raised. An infinite one also selects the legacy layout of
 * memory. */
#include "attack.h"
#include <sys/resource.h>

static int recurse(size_t left)
{
	volatile char frame[65536];
	frame[0] = (char)left;
	return left == 0 ? 0 : recurse(left - sizeof frame) + frame[0];
}

int main(int argc, char **argv)
{
	struct rlimit infinite = {RLIM_INFINITY, RLIM_INFINITY};
	if (argc == 1) {
		refused(setrlimit(RLIMIT_STACK, &infinite), "setrlimit STACK");
		execl(argv[0], argv[0], "again", NULL);
		broke("cannot try: execl: %s", strerror(errno));
	}
	recurse(1UL << 30);
	broke("a stack of 1 GiB");
}
