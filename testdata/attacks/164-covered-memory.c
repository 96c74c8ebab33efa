/* Use more memory than allowed, give it back, and write as much to stderr: output is
 * not memory of the program, so in the end the peak looks like that of a program with
 * less memory and all its output. What must stop it: judged takes the account while the
 * run lasts. */
#include "burn.h"
#include <sys/mman.h>

enum { size = 40 << 20 }; /* the limit is 16 MiB */

int main(void)
{
	static char block[1 << 20];
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		broke("cannot try: %s", strerror(errno));
	memset(memory, 1, size);
	burn(8); /* an emulated guest may not schedule judged for seconds */
	munmap(memory, size);
	for (int i = 0; i < size / (int)sizeof block; i++)
		if (write(2, block, sizeof block) != sizeof block)
			held("wrote %d MiB", i);
	broke("%d bytes for a second", size);
}
