/* Hold the slot asleep in processes whose first thread has exited: the kernel
 * drops the signal of cgroup.kill there. What must stop it: signals to processes by
 * their pidfds, and the end of the pid namespace. */
#include "leaderless.h"

static void *work(void *unused)
{
	sleep(20);
	broke("slept for 20 s");
	return unused;
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			behead(work);
	behead(work);
}
