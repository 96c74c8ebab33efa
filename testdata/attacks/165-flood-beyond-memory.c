/* Write more to stdout and stderr together than allowed, each within the limit, and more
 * than the memory limit. What must stop it: the limit is for both together, and
 * output is no memory of the program, so it is not MLE either. */
#include "attack.h"

int main(void)
{
	static char block[1 << 20];
	for (int i = 0; i < 12; i++)
		for (int fd = 1; fd <= 2; fd++)
			if (write(fd, block, sizeof block) != sizeof block)
				broke("cannot try: %s", strerror(errno));
	_exit(0);
}
