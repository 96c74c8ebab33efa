/* Stops itself while the interactor waits, so that the interactor is blamed for
 * the time. What must stop it: the interactor is seen to wait for the program. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	raise(SIGSTOP);
	return 0;
}
