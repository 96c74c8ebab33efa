/* A process whose first thread has exited while another thread does what the last argument selects. With "child" before
 * it, the process is a child of the first one; with "orphan" it also outlives the first one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char **args;
static const char *kind;
static int ready[2];

static int headless(void)
{
	char path[64], line[256] = "";
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
	FILE *stat = fopen(path, "r");
	int ended = stat != NULL && fgets(line, sizeof line, stat) != NULL && strstr(line, ") Z") != NULL;
	if (stat != NULL)
		fclose(stat);
	return ended;
}

static void *rest(void *unused)
{
	(void)unused;
	while (!headless())
		usleep(100);
	if (write(ready[1], "", 1) != 1)
		exit(1);
	if (strcmp(kind, "exit") == 0)
		exit(3);
	if (strcmp(kind, "return") == 0)
		return NULL;
	while (strcmp(kind, "spin") == 0)
		;
	while (strcmp(kind, "fork") == 0)
		if (fork() == 0)
			_exit(0);
		else
			wait(NULL);
	if (strcmp(kind, "exec") == 0)
		execv(args[0], args); /* the new program loses its first thread again */
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;
	args = argv;
	kind = argv[argc - 1];
	int apart = argc > 2, orphan = apart && strcmp(argv[1], "orphan") == 0;
	if (pipe2(ready, O_CLOEXEC) != 0)
		return 1;
	if (apart && fork() != 0) {
		if (orphan)
			return read(ready[0], &byte, 1) != 1;
		for (;;)
			pause();
	}
	if (apart) { /* the program that it executes makes no further child */
		static char *again[3];
		again[0] = argv[0], again[1] = argv[2];
		args = again;
	}
	if (pthread_create(&thread, NULL, rest, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}
