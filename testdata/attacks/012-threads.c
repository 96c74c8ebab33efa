/* More CPU time than wall time: four threads that work on all CPUs, on a slot of
 * one. Two of them ask for the first CPU that takes them, two for the last. What
 * must stop it: the cpuset keeps them on the slot's CPU, and the cgroup counts all
 * of them. */
#include "burn.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define THREADS 4

static atomic_int where[THREADS]; /* the CPU that a thread works on, and 1 more */

static void *work(void *place)
{
	atomic_int *seen = place;
	int last = (seen - where) % 2, moved = 0;
	cpu_set_t one;
	for (int i = 0; i < CPU_SETSIZE && !moved; i++) {
		CPU_ZERO(&one);
		CPU_SET(last ? CPU_SETSIZE - 1 - i : i, &one);
		moved = sched_setaffinity(0, sizeof one, &one) == 0;
	}
	*seen = sched_getcpu() + 1;
	spin();
}

int main(void)
{
	pthread_t thread;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, work, &where[i]) != 0)
			broke("cannot try: pthread_create");
	for (int i = 0; i < THREADS; i++) {
		while (where[i] == 0)
			usleep(1000);
		if (where[i] != where[0])
			broke("threads work on CPU %d and on CPU %d", where[0] - 1, where[i] - 1);
	}
	spin();
}
