/* Abort with SIGABRT ignored and blocked. As process 1, which nsjail makes of its
 * program, abort cannot end it and becomes SIGSEGV. What must stop it: the program
 * is not process 1. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	sigset_t all;
	sigfillset(&all);
	signal(SIGABRT, SIG_IGN);
	sigprocmask(SIG_BLOCK, &all, NULL);
	abort();
}
