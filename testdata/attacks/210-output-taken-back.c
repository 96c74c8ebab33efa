/* Fills the room that the control group has for output, takes the output back by
 * opening /dev/stdout and /dev/stderr again, and holds memory in its place: twice
 * what it may. What must stop it: the output is subtracted as it is, not as it was. */
#include "attack.h"
#include <sys/mman.h>

enum { OUTPUT = 30 << 20, MEMORY = 96 << 20 };

int main(void)
{
	static char block[1 << 20];
	memset(block, '.', sizeof block);
	for (int i = 0; i < OUTPUT / (int)sizeof block; i++)
		if (write(1, block, sizeof block) < 0 || write(2, block, sizeof block) < 0)
			return 1;
	if (open("/dev/stdout", O_WRONLY | O_TRUNC) < 0 || open("/dev/stderr", O_WRONLY | O_TRUNC) < 0)
		return 2;
	char *all = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < MEMORY; i += 4096)
			all[i] = (char)round;
		usleep(10000);
	}
	broke("held %d MiB", MEMORY >> 20);
}
