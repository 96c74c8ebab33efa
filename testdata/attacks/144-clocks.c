/* Tells the next run a number by when it ends: the next run begins a moment
 * later and looks at the clock. And a number by how much it computes: where runs
 * have no group of the cpu controller of their own, the virtual time of their
 * CPU's queue goes on from run to run, and /proc/self/sched tells it. Nothing
 * stops either: programs need a clock, /proc has no switch for the file. Open
 * where nobody else's work comes between two runs. */
#include "attack.h"
#include <time.h>

#define MESSAGE 11 /* of 16 */

/* moment is the time of day, in steps of 64 ms. */
static int moment(double *into)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	double steps = (now.tv_sec % 1024 + now.tv_nsec / 1e9) / 0.064;
	*into = steps - (long)steps;
	return (long)steps % 16;
}

/* queue is the virtual time of the queue, in steps of 64 ms; -1 is unknown. */
static int queue(double *into)
{
	char line[256];
	double ms = -1;
	FILE *f = fopen("/proc/self/sched", "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "se.vruntime", 11) == 0)
			ms = atof(strchr(line, ':') + 1);
	if (f)
		fclose(f);
	double steps = ms / 64;
	*into = steps - (long)steps;
	return ms < 0 ? -1 : (long)steps % 16;
}

int main(int argc, char **argv)
{
	double into;
	int by_queue = queue(&into), by_clock = moment(&into);
	if (argc > 1 && strcmp(argv[1], "send") == 0) {
		/* Without a tick the kernel brings the queue up to date now and then. */
		while ((by_queue = queue(&into)) >= 0 && (by_queue != MESSAGE || into < 0.2) && clock() < 2 * CLOCKS_PER_SEC)
			;
		while (moment(&into) != MESSAGE || into > 0.3)
			nanosleep(&(struct timespec){0, 1000000}, NULL);
		held("sent: the queue says %d", by_queue);
	}
	if (by_queue == MESSAGE || by_clock == MESSAGE)
		broke("the queue says %d, the clock %d, and %d was sent", by_queue, by_clock, MESSAGE);
	held("the queue says %d, the clock %d", by_queue, by_clock);
}
