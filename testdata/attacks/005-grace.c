/* Use the grace time between a judge's soft signal and its hard one (DOMjudge's
 * runguard sends SIGTERM and waits 100 ms; RLIMIT_CPU sends SIGXCPU every second):
 * the answer is written in the handler. What must stop it: there is no soft
 * signal. */
#include "burn.h"
#include <signal.h>

static void answer(int s)
{
	broke("got signal %d and time to answer", s);
}

int main(void)
{
	for (int s = 1; s <= 64; s++)
		signal(s, answer);
	spin();
}
