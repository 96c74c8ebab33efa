/* Sends 32 bits in the names that the kernel remembers: one run looks up
 * files in /usr that do not exist, which leaves a negative entry for each in the
 * directory cache; the next one asks by openat2 with RESOLVE_CACHED whether the
 * name is there without reading the directory. There are as many bits as names,
 * none is used up, nobody disturbs them. What must stop it: there is no
 * openat2, whose flags lie in memory; copies are in a tmpfs, where no name is
 * kept that is not there. */
#include "attack.h"
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#define MESSAGE 0x5ac31e97u

int main(int argc, char **argv)
{
	struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_CACHED};
	uint32_t got = 0;
	int sends = argc > 1 && strcmp(argv[1], "send") == 0;
	for (int i = 0; i < 32; i++) {
		char path[64];
		/* Both know the time, so they know which names. */
		snprintf(path, sizeof path, "/usr/lib/judged-%ld-%d", (long)time(NULL) / 30, i);
		if (sends && (MESSAGE >> i & 1))
			access(path, F_OK);
		else if (!sends)
			got |= (uint32_t)(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how) < 0 && errno == ENOENT) << i;
	}
	if (sends)
		held("looked up the names of %08x", MESSAGE);
	if (got == MESSAGE)
		broke("received %08x through the directory cache", got);
	held("received %08x: %s", got, strerror(errno));
}
