/* Reserve far more address space than the machine has. Go, Java and sanitizers do
 * it with good reason; it costs nothing. What must happen: nothing. Judges that
 * limit address space (sio2jail, RLIMIT_AS) call this too much memory. */
#include "attack.h"
#include <sys/mman.h>

int main(void)
{
	size_t size = 16UL << 40;
	char *space = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space == MAP_FAILED)
		held("refused by the host's overcommit setting: %s", strerror(errno));
	for (size_t at = 0; at < size; at += size / 16)
		space[at] = 1;
	held("reserved 16 TiB and touched 16 pages");
}
