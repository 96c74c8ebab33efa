/* Holds more memory than allowed in pages of its input, which is charged to judged
 * and lies in huge pages: it maps the file privately, reads all of it, and then
 * writes to each page. What must stop it: the copy of a page that is written is
 * charged to the run. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/stat.h>

int main(void)
{
	struct stat s;
	if (fstat(0, &s) < 0 || s.st_size < 48 << 20)
		broke("cannot try: the input is too small");
	size_t size = (size_t)s.st_size;
	char *shared = mmap(NULL, size, PROT_READ, MAP_SHARED, 0, 0);
	char *own = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0, 0);
	if (shared == MAP_FAILED || own == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	madvise(own, size, MADV_HUGEPAGE);
	for (size_t i = 0; i < size; i += 4096)
		if (shared[i] != own[i])
			broke("two mappings of the input differ");
	printf("all pages are mapped\n");
	fflush(stdout);
	for (size_t i = 0; i < size; i += 4096)
		own[i] ^= 1;
	for (size_t i = 0; i < size; i += 4096)
		if (shared[i] == own[i])
			held("a page that was written has its old content");
	broke("%zu bytes in memory", size);
}
