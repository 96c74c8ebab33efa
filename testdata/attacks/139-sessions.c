/* Leaves a session, and with it an automatic group of the scheduler
 * (CONFIG_SCHED_AUTOGROUP). The number of the group stands in
 * /proc/self/autogroup and counts the sessions of the whole host, so a later
 * run on any slot can read how many there were. Each group is also taken down
 * after its session, at the expense of later runs. What must stop it: seccomp. */
#include "attack.h"

static long group(void)
{
	long number = 0;
	FILE *f = fopen("/proc/self/autogroup", "r");
	if (f && fscanf(f, "/autogroup-%ld", &number) != 1)
		number = 0;
	if (f)
		fclose(f);
	return number;
}

static void attempt(void)
{
	long before = group();
	if (setsid() >= 0)
		broke("a session, and from group %ld to group %ld", before, group());
	printf("setsid: %s\n", strerror(errno));
}

int main(void)
{
	apart(attempt, "setsid");
	if (setpgid(0, 0) != 0)
		broke("a process group is refused, too: %s", strerror(errno));
	held("no session, group %ld", group());
}
