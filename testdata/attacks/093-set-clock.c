/* Sets the host's clock, to what it is: with one step backwards, judges that
 * measure by the time of day give anybody more time (runguard). What must stop
 * it: no CAP_SYS_TIME, and seccomp, which ends the run. */
#include "attack.h"
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

static void by_settimeofday(void)
{
	struct timeval tv;
	gettimeofday(&tv, NULL);
	if (settimeofday(&tv, NULL) == 0)
		broke("settimeofday");
}

static void by_adjtimex(void)
{
	struct timex t = {.modes = 0};
	if (adjtimex(&t) < 0)
		return;
	t.modes = ADJ_FREQUENCY; /* as it is */
	if (adjtimex(&t) >= 0)
		broke("adjtimex");
}

static void by_clock_adjtime(void)
{
	struct timex t = {.modes = ADJ_SETOFFSET | ADJ_NANO};
	if (clock_adjtime(CLOCK_REALTIME, &t) >= 0)
		broke("clock_adjtime");
}

int main(void)
{
	apart(by_settimeofday, "settimeofday");
	apart(by_adjtimex, "adjtimex");
	apart(by_clock_adjtime, "clock_adjtime");
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (syscall(SYS_clock_settime, CLOCK_REALTIME, &now) == 0)
		broke("clock_settime");
	held("clock_settime: %s", strerror(errno));
}
