/* Use more memory than the limit: touch 512 MiB. What must stop it: the memory
 * cgroup, which kills. */
#include "attack.h"
#include <sys/mman.h>

int main(void)
{
	for (int i = 0; i < 512; i++) {
		char *block = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (block == MAP_FAILED)
			broke("mmap failed after %d MiB: %s", i, strerror(errno));
		memset(block, 1, 1 << 20);
	}
	broke("holds 512 MiB");
}
