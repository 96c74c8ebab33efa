/* Looks for whom it could kill while the interactor waits for its answer: a dead
 * interactor would be judged's failure, and another try. What must stop it: a
 * pid namespace and a user each. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	/* Signal 0 asks whether a process could be killed. */
	for (int pid = 2; pid < 1 << 19; pid++)
		if (pid != getpid() && kill(pid, 0) == 0)
			broke("can kill %d", pid);
	held("nobody to kill");
}
