/* Leaves marks for the next run in the pages of a large input, which are those of one
 * file for all runs of the slot: it advises the kernel to drop, move, split, lock and
 * fill them, through mappings and through the descriptor, and tries to write, to punch
 * holes and to seal. The next run looks which pages are in memory, for holes, and for
 * other content. What must stop it: the file belongs to root and is read-only, and its
 * pages are locked. */
#include "attack.h"
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { page = 4096, step = 1 << 20 };
static const char text[] = "1 2 3 4\n";

static void set(int fd, size_t size)
{
	static char block[step];
	struct iovec to = {block, sizeof block};
	for (int kind = 0; kind < 2; kind++) {
		int flags = kind ? MAP_PRIVATE : MAP_SHARED;
		char *p = mmap(NULL, size, PROT_READ | (kind ? PROT_WRITE : 0), flags, fd, 0);
		if (p == MAP_FAILED)
			broke("cannot try: mmap: %s", strerror(errno));
		for (size_t at = 0; at < size; at += 2 * step) {
			(void)*(volatile char *)(p + at);
			/* MADV_DOFORK and the poisoning calls are not about pages. */
			for (int advice = 0; advice <= 26; advice++)
				madvise(p + at, step, advice);
			mlock(p + at, step);
			munlock(p + at, step);
			msync(p + at, step, MS_SYNC | MS_INVALIDATE);
			mprotect(p + at, step, PROT_READ | PROT_WRITE);
			syscall(SYS_mbind, p + at, (unsigned long)step, 2, &(unsigned long){1}, 8UL, 6);
		}
		munmap(p, size);
	}
	for (size_t at = 0; at < size; at += 2 * step) {
		for (int advice = 0; advice <= 7; advice++)
			posix_fadvise(fd, (off_t)at, step, advice);
		readahead(fd, (off_t)at, step);
		sync_file_range(fd, (off_t)at, step, 7);
		for (int flags = 1; flags < 1 << 8; flags <<= 1)
			if (preadv2(fd, &to, 1, (off_t)at, flags) < 0)
				continue;
		for (int mode = 0; mode < 1 << 7; mode++)
			fallocate(fd, mode, (off_t)at, step);
		posix_fadvise(fd, (off_t)at, step, POSIX_FADV_DONTNEED); /* last, because reading fills the pages again */
	}
	refused(ftruncate(fd, (off_t)size / 2), "ftruncate");
	refused(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), "F_ADD_SEALS");
	refused(open("/proc/self/fd/0", O_RDWR), "open for writing");
}

static void get(int fd, size_t size)
{
	static unsigned char resident[step / page];
	char block[sizeof text - 1];
	struct iovec to = {block, sizeof block};
	struct stat s;
	struct { uint64_t cached, dirty, writeback, evicted, recently; } cache = {0};
	struct { uint64_t at, size; } all = {0, size};
	char *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED || fstat(fd, &s) < 0)
		broke("cannot try: %s", strerror(errno));
	if (s.st_blocks != 0 && (size_t)s.st_blocks * 512 < size)
		broke("only %lld blocks", (long long)s.st_blocks);
	if (lseek(fd, 0, SEEK_HOLE) != (off_t)size)
		broke("there is a hole at %lld", (long long)lseek(fd, 0, SEEK_HOLE));
	if (syscall(451, fd, &all, &cache, 0) == 0 && (cache.cached < size / page || cache.evicted || cache.recently))
		broke("%llu pages are cached, %llu evicted", (unsigned long long)cache.cached, (unsigned long long)cache.evicted);
	for (size_t at = 0; at < size; at += step) {
		ssize_t n = preadv2(fd, &to, 1, (off_t)at, RWF_NOWAIT);
		if (n >= 0 && n != (ssize_t)sizeof block)
			broke("%zd bytes at %zu without waiting", n, at);
		if (n < 0 && errno == EAGAIN)
			broke("no page in memory at %zu", at);
		if (mincore(p + at, step, resident) == 0)
			for (int i = 0; i < step / page; i++)
				if (!(resident[i] & 1))
					broke("page %d at %zu is not resident", i, at);
		for (size_t i = at; i < at + step; i += page)
			if (memcmp(p + i, text, sizeof text - 1) != 0)
				broke("other content at %zu", i);
	}
}

int main(int argc, char **argv)
{
	struct stat s;
	if (argc < 2 || fstat(0, &s) < 0 || s.st_size < 32 << 20 || s.st_size % (2 * step) != 0)
		broke("cannot try: the input has the wrong size");
	if (strcmp(argv[1], "set") == 0)
		set(0, (size_t)s.st_size);
	else
		get(0, (size_t)s.st_size);
	held("nothing is kept");
}
