/* Ignore and block all 64 signals, then compute. What must stop it: SIGKILL
 * by the cgroup; nothing is ever asked of the program by a softer signal. */
#include "burn.h"
#include <signal.h>

int main(void)
{
	sigset_t all;
	sigfillset(&all);
	for (int s = 1; s <= 64; s++)
		signal(s, SIG_IGN);
	sigprocmask(SIG_BLOCK, &all, NULL);
	spin();
}
