/* Work in interrupts and signal handlers: as many timers as there may be, each as
 * fast as the kernel lets it, and children that signal the parent without pause, while
 * every thread sleeps. What must stop it: the cgroup counts the delivery;
 * RLIMIT_SIGPENDING bounds the timers and the queue. */
#include "burn.h"
#include <signal.h>
#include <sys/time.h>

static void wake(int s)
{
	(void)s;
}

int main(void)
{
	struct itimerspec fast = {{0, 1}, {0, 1}};
	struct itimerval real = {{0, 1}, {0, 1}};
	pid_t parent = getpid();
	timer_t timer;
	int timers = 0;
	for (int s = 1; s <= 64; s++)
		signal(s, wake);
	for (; timers < 1000; timers++) {
		struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + timers % 30};
		if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
			break;
		timer_settime(timer, 0, &fast, NULL);
	}
	if (timers == 1000)
		broke("%d timers", timers);
	setitimer(ITIMER_REAL, &real, NULL);
	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			for (double end = seconds(CLOCK_MONOTONIC) + 20; seconds(CLOCK_MONOTONIC) < end;)
				sigqueue(parent, SIGRTMAX, (union sigval){0});
	for (double end = seconds(CLOCK_MONOTONIC) + 20; seconds(CLOCK_MONOTONIC) < end;)
		pause();
	broke("slept for 20 s");
}
