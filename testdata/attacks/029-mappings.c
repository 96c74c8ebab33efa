/* Hold memory in the kernel's books: cut a mapping into as many as there may be,
 * 65530 on most hosts, none of which has a page. Each costs the kernel some 200
 * bytes that no RSS shows. What must stop it: vm.max_map_count, and the memory
 * cgroup counts the kernel's objects. */
#include "attack.h"
#include <sys/mman.h>

int main(void)
{
	size_t page = 4096, pages = 100000, cut = 1;
	char *space = mmap(NULL, pages * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	while (cut < pages && mprotect(space + cut * page, page, PROT_NONE) == 0)
		cut += 2;
	if (cut < 60000)
		broke("cannot try: %zu mappings only: %s", cut, strerror(errno));
	held("%zu mappings, to be counted", cut);
}
