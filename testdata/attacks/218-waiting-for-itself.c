/* Sixty threads compute and yield in turns: nearly all of their time is time in which
 * they are ready and wait for the CPU. What must stop it: the CPU was used by the run
 * itself, and that explains nothing. */
#include "attack.h"
#include <pthread.h>
#include <sched.h>

static void *work(void *unused)
{
	(void)unused;
	for (;;) {
		for (volatile int i = 0; i < 20000; i++)
			;
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t id;
	for (int i = 0; i < 60; i++)
		pthread_create(&id, NULL, work, NULL);
	work(NULL);
}
