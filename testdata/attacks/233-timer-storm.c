/* A hundred timers that expire as often as the kernel lets them, on the CPU of the slot,
 * and a loop. What must stop it: what a program can cause by itself is no noise. */
#include "attack.h"
#include <signal.h>
#include <sys/timerfd.h>
#include <time.h>

int main(void)
{
	struct itimerspec often = {{0, 1000}, {0, 1000}};
	struct sigevent none = {.sigev_notify = SIGEV_NONE};
	int made = 0;
	for (int i = 0; i < 100; i++) {
		timer_t id;
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		made += fd >= 0 && timerfd_settime(fd, 0, &often, NULL) == 0;
		made += timer_create(CLOCK_MONOTONIC, &none, &id) == 0 && timer_settime(id, 0, &often, NULL) == 0;
	}
	printf("%d timers\n", made);
	fflush(stdout);
	for (volatile long i = 0;; i++)
		;
}
