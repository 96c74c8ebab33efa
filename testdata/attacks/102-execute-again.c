/* Execute itself again and again, from a thread whose leader has ended: the thread
 * takes over the leader's pid, so what watches the pid may take that for the end, and
 * what counts per process or per image starts anew. What must stop it: the
 * cgroup counts; a pidfd reports the end of the whole process. */
#include "burn.h"
#include <pthread.h>
#include <sys/syscall.h>

static char *self;
static char rounds[16];

static void *again(void *unused)
{
	burn(0.002);
	execl(self, self, rounds, NULL);
	(void)unused;
	broke("cannot try: execl: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	int round = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread;
	self = argv[0];
	snprintf(rounds, sizeof rounds, "%d", round + 1);
	if (round == 75)
		held("75 programs used 150 ms, to be counted");
	if (pthread_create(&thread, NULL, again, NULL) != 0)
		broke("cannot try: pthread_create");
	syscall(SYS_exit, 0); /* the leader only */
}
