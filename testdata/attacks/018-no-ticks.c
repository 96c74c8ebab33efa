/* Never enter the kernel: no system call, no fault, all signals blocked, one
 * thread alone on its CPU. With nohz_full there is no tick then, and the cgroup's
 * counter is up to a second old. What must stop it: judged makes the kernel account
 * the thread before it looks. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (unsigned long i = 0; i < 40UL << 30; i++)
		__asm__ volatile(""); /* about 20 s */
	broke("came to the end");
}
