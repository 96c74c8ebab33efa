/* Shares its CPU: share load N CPU forks N loops on a CPU that end with it; share HOW MS works for about so many ms of CPU time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void work(long ms)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	long until = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < until);
}

static void *thread(void *ms)
{
	work((long)ms);
	return NULL;
}

static void threads(int n, long ms)
{
	pthread_t all[16];
	for (int i = 0; i < n; i++)
		if (pthread_create(&all[i], NULL, thread, (void *)ms))
			exit(3);
	for (int i = 0; i < n; i++)
		pthread_join(all[i], NULL);
}

static void child(long ms, int group)
{
	pid_t pid = fork();
	if (pid == 0) {
		if (group && setpgid(0, 0) != 0)
			_exit(3);
		work(ms);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	long ms = argc > 2 ? atol(argv[2]) : 0;
	if (!strcmp(how, "load")) {
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(atoi(argv[3]), &one);
		if (sched_setaffinity(0, sizeof one, &one) != 0)
			return 3;
		while (ms-- > 0)
			if (fork() == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				for (;;)
					;
			}
		puts("loaded");
		fflush(stdout);
		return getchar() != EOF;
	}
	if (!strcmp(how, "first"))
		work(ms);
	else if (!strcmp(how, "thread"))
		threads(1, ms);
	else if (!strcmp(how, "threads"))
		threads(4, ms / 4);
	else if (!strcmp(how, "child"))
		child(ms, 0);
	else if (!strcmp(how, "children")) /* that end before anybody looks */
		for (long i = 0; i < ms / 2; i++)
			child(2, 0);
	else if (!strcmp(how, "groups"))
		for (long i = 0; i < 4; i++)
			child(ms / 4, 1);
	else if (!strcmp(how, "sleep"))
		usleep(ms * 1000);
	else
		return 2;
	puts("ok");
	return 0;
}
