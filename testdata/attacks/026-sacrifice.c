/* Let a child be the victim: it takes the memory and is killed for it, as the
 * largest, the parent goes on and answers. Judges that look at the wait status of
 * the first process see no kill. What must stop it: one out-of-memory kill in the
 * cgroup decides; on v2 it ends all. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/wait.h>

int main(void)
{
	int status;
	for (int try = 0; try < 3; try++) {
		if (fork() == 0) {
			size_t size = 512UL << 20;
			char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (block != MAP_FAILED)
				memset(block, 1, size);
			_exit(BROKE_STATUS);
		}
		wait(&status);
		if (WIFEXITED(status))
			broke("a child held 512 MiB");
	}
	held("three children were killed, to be noticed");
}
