/* More CPU time than wall time: four threads that ask for all CPUs, on a slot of
 * one. What must stop it: the cpuset keeps them on the slot's CPU, and the cgroup
 * counts all of them. */
#include "burn.h"
#include <pthread.h>
#include <sched.h>

static void *work(void *unused)
{
	cpu_set_t all;
	(void)unused;
	memset(&all, 0xff, sizeof all);
	sched_setaffinity(0, sizeof all, &all);
	spin();
}

int main(void)
{
	pthread_t thread;
	double begin = seconds(CLOCK_MONOTONIC), start = seconds(CLOCK_PROCESS_CPUTIME_ID), cpu = 0;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			broke("cannot try: pthread_create");
	while (cpu < 20) {
		usleep(10000);
		cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
		double wall = seconds(CLOCK_MONOTONIC) - begin;
		if (cpu > 1.2 * wall + 0.020)
			broke("%.0f ms of CPU time in %.0f ms", cpu * 1e3, wall * 1e3);
	}
	broke("used 20 s");
}
