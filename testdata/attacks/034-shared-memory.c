/* Hold shared memory that no living process has ever touched: children write it
 * and exit, the parent only keeps the mapping, so no RSS shows it. RLIMIT_FSIZE does
 * not hold for it. What must stop it: the memory cgroup counts its pages where they
 * are made. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/wait.h>

int main(void)
{
	size_t size = 512UL << 20, part = 16UL << 20;
	char *space = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (space == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	for (size_t at = 0; at < size; at += part) {
		if (fork() == 0) {
			memset(space + at, 1, part);
			_exit(0);
		}
		wait(NULL);
		if (space[at] != 1 && at < 1UL << 20)
			broke("cannot try: a child wrote nothing");
	}
	for (size_t at = 0; at < size; at += part)
		if (space[at + part - 1] != 1)
			held("children were killed, to be noticed");
	broke("holds 512 MiB of shared memory");
}
