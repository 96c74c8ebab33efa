/* Have the memory only for a moment: take 40 MiB, give it back by three ways, and
 * exit small. What samples memory, or reads it in the end, sees nothing. What must
 * stop it: the cgroup keeps the peak. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/wait.h>

static char *take(size_t size)
{
	char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	memset(block, 1, size);
	return block;
}

int main(void)
{
	size_t size = 10UL << 20;
	char *advised = take(size), *unmapped = take(size), *shrunk = take(size);
	if (fork() == 0) {
		take(size);
		_exit(0);
	}
	wait(NULL);
	madvise(advised, size, MADV_DONTNEED);
	munmap(unmapped, size);
	if (mremap(shrunk, size, 4096, 0) == MAP_FAILED)
		broke("cannot try: mremap: %s", strerror(errno));
	usleep(20000);
	held("had 40 MiB, to be counted");
}
