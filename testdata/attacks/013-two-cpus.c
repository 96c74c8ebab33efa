/* Use up the CPU time twice as fast as the wall time goes: on a slot of two CPUs
 * one thread on each. A supervisor that sleeps for what is left of the limit comes
 * after twice the limit. What must stop it: judged divides by the width. */
#include "burn.h"
#include <pthread.h>
#include <sched.h>

static void *work(void *cpu)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(*(int *)cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
	spin();
}

int main(void)
{
	cpu_set_t slot;
	static int cpus[2];
	int n = 0;
	pthread_t thread;
	sched_getaffinity(0, sizeof slot, &slot);
	for (int cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
		if (CPU_ISSET(cpu, &slot))
			cpus[n++] = cpu;
	if (n < 2)
		broke("cannot try: the slot has one CPU");
	pthread_create(&thread, NULL, work, &cpus[0]);
	work(&cpus[1]);
}
