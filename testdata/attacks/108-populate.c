/* Take all memory in one system call, in which no signal but SIGKILL is seen and no
 * tick shows user time: MADV_POPULATE_WRITE and MAP_POPULATE of 512 MiB, the second in
 * a vfork child, whose parent sleeps in the kernel. What must stop it: the memory
 * cgroup ends it in the middle of the call. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/wait.h>
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

int main(void)
{
	size_t size = 512UL << 20;
	int status;
	pid_t child = vfork();
	if (child == 0) {
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		_exit(0);
	}
	waitpid(child, &status, 0);
	char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	if (madvise(block, size, MADV_POPULATE_WRITE) == 0)
		broke("has 512 MiB");
	held("madvise: %s", strerror(errno));
}
