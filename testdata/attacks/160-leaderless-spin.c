/* Compute in processes whose first thread has exited, as a main that ends by
 * pthread_exit does: a signal to the first thread is lost, and that is where
 * cgroup.kill sends it. What must stop it: signals to processes by their pidfds, and
 * the end of the pid namespace. */
#include "leaderless.h"

static void *work(void *unused)
{
	spin();
	return unused;
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			behead(work);
	behead(work);
}
