/* Ends at once and leaves children behind that hold the pipes and write into
 * them, so that the interactor never sees the end. What must stop it: all that
 * is left of a run is killed when its first process ends. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			setsid();
			for (;;)
				if (write(1, "still here\n", 11) < 0)
					pause();
		}
	return 0;
}
