/* Raises its resource limits, after lowering them, for itself and for process
 * 1. What must stop it: a hard limit goes up with CAP_SYS_RESOURCE only. */
#include "attack.h"
#include <sys/resource.h>

static const struct { int resource; const char *name; } bounded[] = {
	{RLIMIT_CORE, "core"}, {RLIMIT_FSIZE, "file size"}, {RLIMIT_STACK, "stack"}, {RLIMIT_NOFILE, "open files"},
	{RLIMIT_MEMLOCK, "locked memory"}, {RLIMIT_MSGQUEUE, "message queues"}, {RLIMIT_NICE, "nice"}, {RLIMIT_RTPRIO, "realtime priority"},
	{RLIMIT_SIGPENDING, "pending signals"}};

int main(void)
{
	for (size_t i = 0; i < sizeof bounded / sizeof *bounded; i++) {
		struct rlimit limit, more;
		if (getrlimit(bounded[i].resource, &limit) < 0)
			broke("cannot try: %s", strerror(errno));
		if (limit.rlim_max == RLIM_INFINITY)
			broke("%s is not limited", bounded[i].name);
		more = (struct rlimit){limit.rlim_max + 1, limit.rlim_max + 1};
		refused(setrlimit(bounded[i].resource, &more), bounded[i].name);
		more = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
		refused(prlimit(0, bounded[i].resource, &more, NULL), bounded[i].name);
		refused(prlimit(1, bounded[i].resource, &more, NULL), bounded[i].name);
		if (limit.rlim_max > 0) { /* down, and up again */
			more = (struct rlimit){limit.rlim_max - 1, limit.rlim_max - 1};
			if (setrlimit(bounded[i].resource, &more) == 0)
				refused(setrlimit(bounded[i].resource, &limit), bounded[i].name);
		}
	}
	held("no limit could be raised");
}
