/*
 * A program of several processes and threads.
 *
 * count KIND: makes them until the kernel refuses, and prints how many existed at once, and the error.
 * burn KIND N MS: N of them use MS ms of CPU time each, one after the other; prints the sum of what they used, in ns.
 * orphan spin: leaves the work to an orphan and waits.
 * leave spin, leave sleep: exits while a child works or sleeps.
 * storm: exits while a child runs that is hard to kill.
 * orphans: makes many orphans.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static void *sleeper(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static int make_process(void)
{
	pid_t pid = fork();
	if (pid == 0)
		sleeper(NULL);
	return pid < 0 ? errno : 0;
}

static int make_zombie(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	return pid < 0 ? errno : 0;
}

static int make_thread(void)
{
	pthread_t thread;
	return pthread_create(&thread, NULL, sleeper, NULL);
}

/* Each parent is suspended until its child ends, so all exist at once. */
static volatile int depth, last;
static __attribute__((noinline)) void nest(void)
{
	pid_t pid = vfork();
	if (pid < 0)
		last = errno;
	if (pid != 0)
		return;
	depth++;
	nest();
	_exit(0);
}

static int count(const char *kind)
{
	int n = 0, err = 0;
	if (is(kind, "vfork")) {
		nest();
		n = depth, err = last;
	} else {
		for (; n < 1000 && err == 0; n += err == 0)
			err = is(kind, "thread") || (is(kind, "mixed") && n % 2) ? make_thread() : is(kind, "zombie") ? make_zombie() : make_process();
	}
	printf("%d %s\n", n, err == EAGAIN ? "EAGAIN" : strerror(err));
	fflush(stdout);
	kill(0, SIGKILL);
	return 0;
}

/* Orphans that exit are reaped and free their place: makes a hundred times as many as may exist at once. */
static int orphans(void)
{
	for (int i = 0; i < 400; i++) {
		pid_t pid;
		for (int tries = 0; (pid = fork()) < 0; tries++) {
			if (tries > 10000)
				return 1;
			usleep(100);
		}
		if (pid == 0) {
			while (fork() < 0)
				usleep(100);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	puts("done");
	return 0;
}

static long long nanoseconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long *used, each;

static void *burn(void *unused)
{
	long long start = nanoseconds(CLOCK_THREAD_CPUTIME_ID), now;
	do
		now = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start;
	while (now < each);
	*used += now;
	return unused;
}

static void burn_and_tell(int pipe)
{
	burn(NULL);
	if (write(pipe, "x", 1) == 1)
		sleeper(NULL);
	_exit(0);
}

static int family(const char *kind, int n)
{
	used = mmap(NULL, sizeof *used, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (is(kind, "ignored"))
		signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < n; i++) {
		int done[2];
		char c;
		pthread_t thread;
		pid_t pid = 0;
		if (pipe(done) < 0)
			return 1;
		if (is(kind, "thread")) {
			if (pthread_create(&thread, NULL, burn, NULL) != 0)
				return 2;
			pthread_join(thread, NULL);
			continue;
		}
		pid = is(kind, "vfork") ? vfork() : fork();
		if (pid < 0)
			return 3;
		if (pid == 0) {
			if (is(kind, "killed"))
				burn_and_tell(done[1]);
			if (is(kind, "orphan") && fork() != 0)
				_exit(0);
			burn(NULL);
			_exit(0);
		}
		close(done[1]);
		if (read(done[0], &c, 1) == 1) /* otherwise EOF: all processes with the write end have exited */
			kill(pid, SIGKILL);
		close(done[0]);
		wait(NULL);
	}
	printf("%lld\n", *used);
	return 0;
}

/* Exits, or waits for ever, after its child has started. */
static int leave(int spin, int orphan)
{
	int begun[2];
	char c;
	pid_t pid;
	if (pipe(begun) < 0 || (pid = fork()) < 0)
		return 1;
	if (pid == 0) {
		if (orphan && fork() != 0)
			_exit(0);
		if (write(begun[1], "x", 1) != 1)
			return 2;
		while (spin)
			;
		sleeper(NULL);
	}
	if (read(begun[0], &c, 1) != 1)
		return 3;
	if (orphan)
		sleeper(NULL);
	return 0;
}

/*
 * Exits while one child sleeps and another one, once a file "go" exists, does nothing but fork and exit: it always has a new
 * pid.
 */
static int storm(void)
{
	int begun[2];
	char c;
	if (pipe(begun) < 0)
		return 1;
	if (fork() == 0)
		sleeper(NULL);
	if (fork() == 0) {
		prctl(PR_SET_NAME, "storm");
		while (access("go", F_OK) != 0)
			usleep(100);
		for (int i = 0;; i++) {
			if (fork() != 0)
				_exit(0);
			if (i == 100 && write(begun[1], "x", 1) != 1)
				return 2;
		}
	}
	if (read(begun[0], &c, 1) != 1)
		return 3;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && (is(argv[1], "orphan") || is(argv[1], "leave")))
		return leave(is(argv[2], "spin"), is(argv[1], "orphan"));
	if (argc == 3 && is(argv[1], "count"))
		return count(argv[2]);
	if (argc == 2 && is(argv[1], "orphans"))
		return orphans();
	if (argc == 2 && is(argv[1], "storm"))
		return storm();
	if (argc != 5 || !is(argv[1], "burn"))
		return 99;
	each = atol(argv[4]) * 1000000LL;
	return family(argv[2], atoi(argv[3]));
}
