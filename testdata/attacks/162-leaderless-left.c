/* End with status 0 and leave processes behind whose first thread has exited: some
 * sleep, some fork, some execute themselves again. What must stop it: signals to
 * processes by their pidfds, and the end of the pid namespace. The driver sees that
 * they are gone. */
#include "leaderless.h"

static char *self;

static void *asleep(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *forks(void *unused)
{
	for (;;)
		if (fork() == 0)
			_exit(0);
		else
			wait(NULL);
	return unused;
}

static void *executes(void *unused)
{
	execl(self, self, "again", NULL);
	return unused;
}

int main(int argc, char **argv)
{
	void *(*const works[])(void *) = {asleep, forks, executes};
	self = argv[0];
	if (argc > 1)
		behead(executes);
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			setsid();
			behead(works[i]);
		}
	usleep(20000);
	held("they go on");
}
