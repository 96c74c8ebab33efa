/* Writes what a comparison skips, or might look at again and again, up to the limit of
 * output. What must stop it: the comparison reads each byte once. */
#include "attack.h"

int main(void)
{
	static char block[1 << 20];
	for (size_t i = 0; i < sizeof block; i++)
		block[i] = " \n\t\r\v\f"[i % 6];
	int fd = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	for (int i = 0; i < 30; i++)
		if (write(fd, block, sizeof block) < 0)
			return 1;
	memset(block, 0, sizeof block);
	if (write(fd, block, sizeof block) < 0 || write(fd, "2\n", 2) < 0)
		return 2;
	held("written");
}
