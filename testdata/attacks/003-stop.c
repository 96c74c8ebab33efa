/* Stop: a stopped process uses no CPU time, does not see SIGTERM and looks ended
 * to a judge that waits with WUNTRACED. Every way to be stopped, one in each
 * process, then this one itself. What must stop it: the wall limit; SIGKILL ends
 * stopped processes too. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP};
	for (unsigned i = 0; i < sizeof stops / sizeof *stops; i++)
		if (fork() == 0) {
			raise(stops[i]);
			alarm(20); /* where nothing else ends it */
			for (;;)
				pause();
		}
	alarm(20);
	raise(SIGSTOP);
	broke("somebody sent SIGCONT");
}
