/* Move to a CPU outside the slot, where other runs or judged work, by all CPUs at
 * once, one by one, from a thread and from a child. What must stop it: cpuset.cpus
 * of the cgroup bounds every mask. The program may only move within its slot. */
#include "attack.h"
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

static cpu_set_t slot;

static void look(const char *who)
{
	int cpu = sched_getcpu();
	if (cpu < 0 || !CPU_ISSET(cpu, &slot))
		broke("%s runs on CPU %d", who, cpu);
}

static void *move(void *who)
{
	cpu_set_t mask;
	memset(&mask, 0xff, sizeof mask);
	if (sched_setaffinity(0, sizeof mask, &mask) == 0 && sched_getaffinity(0, sizeof mask, &mask) == 0) {
		CPU_XOR(&mask, &mask, &slot);
		if (CPU_COUNT(&mask) != 0)
			broke("%s may run on %d CPUs more", (char *)who, CPU_COUNT(&mask));
	}
	look(who);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&mask);
		CPU_SET(cpu, &mask);
		if (sched_setaffinity(0, sizeof mask, &mask) == 0)
			look(who);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status = 0;
	if (sched_getaffinity(0, sizeof slot, &slot) != 0)
		broke("cannot try: sched_getaffinity: %s", strerror(errno));
	if (argc > 1 && CPU_ISSET(atoi(argv[1]), &slot))
		broke("the slot has CPU %s, which is another's", argv[1]);
	move("the first thread");
	if (pthread_create(&thread, NULL, move, "a thread") == 0)
		pthread_join(thread, NULL);
	if (fork() == 0) {
		move("a child");
		_exit(0);
	}
	wait(&status);
	if (status != 0)
		broke("the child got out");
	held("stayed on %d CPUs", CPU_COUNT(&slot));
}
