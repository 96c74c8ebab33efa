/* Close all three streams, go on for a while, exit with 3. A judge that takes the
 * end of the output for the end of the program goes wrong here. What must stop it:
 * the wait status, and nothing else, is the end. */
#include "attack.h"

int main(void)
{
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	usleep(50000);
	if (dup(0) >= 0)
		broke("somebody opened a stream again");
	return 3;
}
