/* Uses up what the kernel counts per user: queued signals, timers (they count
 * as signals), pages of pipes; and looks in the run next to it for what is left.
 * The counts are also a channel: SigQ in /proc/self/status. What must stop it:
 * runs at the same time have different users. */
#include "attack.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

static int queued(void)
{
	char line[256];
	int used = -1;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "SigQ: %d", &used);
	if (f)
		fclose(f);
	return used;
}

static void hog(void)
{
	sigset_t all;
	siginfo_t info = {.si_code = SI_QUEUE};
	int signals = 0, timers = 0, pipes = 0, pair[2];
	timer_t timer;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	while (timers < 100 && timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0)
		timers++;
	while (signals < 100000 && syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN + 5, &info) == 0)
		signals++;
	for (int i = 0; i < 10; i++) /* 1250 pipes; past 1024 a user's pipes have two pages */
		if (fork() == 0) {
			while (pipes < 125 && pipe(pair) == 0)
				pipes++;
			nanosleep(&(struct timespec){0, 400000000}, NULL);
			_exit(0);
		}
	nanosleep(&(struct timespec){0, 500000000}, NULL);
	held("queued %d signals and %d timers", signals, timers);
}

int main(int argc, char **argv)
{
	int pair[2];
	if (argc > 1 && strcmp(argv[1], "hog") == 0)
		hog();
	for (int i = 0; i < 40; i++, nanosleep(&(struct timespec){0, 10000000}, NULL)) {
		if (queued() != 0)
			broke("%d signals of this user are queued by others", queued());
		if (pipe(pair) < 0)
			broke("no pipe: %s", strerror(errno));
		if (fcntl(pair[1], F_GETPIPE_SZ) != 65536)
			broke("a pipe holds %d bytes: this user has many", fcntl(pair[1], F_GETPIPE_SZ));
		close(pair[0]);
		close(pair[1]);
	}
	held("nothing is used up");
}
