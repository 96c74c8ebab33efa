/* Talks to the interactor in one line that never ends. An interactor that waits
 * for the end is busy until a limit of its own, which would be judged's failure.
 * What must stop it: what the program writes is counted. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	static char zeros[1 << 16];
	signal(SIGPIPE, SIG_IGN);
	memset(zeros, '0', sizeof zeros);
	while (write(1, zeros, sizeof zeros) > 0)
		;
	return 0;
}
