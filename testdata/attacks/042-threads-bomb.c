/* A bomb of threads, which RLIMIT_NPROC counts per user and judges that count
 * processes do not see. What must stop it: pids.max counts threads. */
#include "attack.h"
#include <pthread.h>

static void *wait_forever(void *unused)
{
	sleep(20);
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_attr_t small;
	int threads = 0, error;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	while ((error = pthread_create(&thread, &small, wait_forever, NULL)) == 0 && threads < 500)
		threads++;
	if (threads > 15)
		broke("%d threads at a limit of 16 processes", threads);
	held("%d threads, then: %s", threads, strerror(error));
}
