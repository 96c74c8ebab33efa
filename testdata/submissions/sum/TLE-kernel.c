/* Proves that time in the kernel counts as well as time outside. */
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
	static char block[1 << 16];
	int zero = open("/dev/zero", O_RDONLY);
	while (read(zero, block, sizeof block) > 0)
		;
	for (;;)
		;
}
