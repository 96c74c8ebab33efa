/* Find out which pages of a shared file are in memory, and so what other runs have
 * read (Gruss et al., "Page Cache Attacks", CCS 2019): mincore, cachestat, reads that
 * do not wait, and the eviction that makes it a fast channel. Timing a read is left,
 * and is slow. What must stop it: seccomp. */
#include "attack.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

int main(void)
{
	static char page[4096];
	unsigned char present[1];
	unsigned long range[2] = {0, 4096}, counts[5];
	struct iovec one = {page, sizeof page};
	int fd = open(host_file(), O_RDONLY);
	if (fd < 0)
		broke("cannot try: open: %s", strerror(errno));
	char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	refused(mincore(map, 4096, present), "mincore");
	refused(syscall(SYS_cachestat, fd, range, counts, 0), "cachestat");
	refused(preadv2(fd, &one, 1, 0, RWF_NOWAIT), "preadv2 RWF_NOWAIT");
	refused(preadv2(0, &one, 1, 0, RWF_NOWAIT), "preadv2 of stdin");
	refused(fcntl(fd, F_NOTIFY, 1), "F_NOTIFY");
	if (mmap(map, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED)
		broke("mapped a file of the host writable");
	held("not told what is in the page cache");
}
