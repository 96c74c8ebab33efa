/* Free memory and keep it: after MADV_FREE pages stay until the kernel needs them and
 * are still counted, but may go at any moment; after MADV_COLD and MADV_PAGEOUT they
 * look unused. Three times the limit in this way must neither kill an honest program
 * nor hide what it held. What must stop it: seccomp refuses MADV_FREE and MADV_PAGEOUT
 * like a kernel that does not know them, and allocators then use MADV_DONTNEED. */
#include "attack.h"
#include <sys/mman.h>

int main(void)
{
	size_t size = 48UL << 20;
	for (int round = 0; round < 4; round++) {
		char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (block == MAP_FAILED)
			broke("cannot try: mmap: %s", strerror(errno));
		memset(block, 1, size);
		madvise(block, size, MADV_COLD);
		madvise(block, size, MADV_PAGEOUT);
		if (block[0] != 1 || block[size - 1] != 1)
			broke("lost what it had written");
		if (madvise(block, size, MADV_FREE) != 0 && madvise(block, size, MADV_DONTNEED) != 0)
			broke("cannot try: MADV_DONTNEED: %s", strerror(errno));
	}
	held("had 48 MiB four times, to be counted once");
}
