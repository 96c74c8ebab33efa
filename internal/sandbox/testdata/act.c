/* What a run of the tests does, by its first argument; as "echo" it prints its arguments. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int print(int n, char **words)
{
	for (int i = 0; i < n; i++)
		printf("%s%s", i ? " " : "", words[i]);
	return putchar('\n') < 0;
}

/* Where it is, what it may write, who it is, and what of the host it sees: each line is one finding. */
static int inspect(void)
{
	char line[4096];
	struct dirent **names;
	puts(getcwd(line, sizeof line) ? line : "no working directory");
	if (open("a", O_CREAT | O_WRONLY, 0600) < 0)
		puts("cannot write");
	int n = scandir(".", &names, NULL, alphasort);
	for (int i = 0; i < n; i++)
		if (names[i]->d_name[0] != '.')
			puts(names[i]->d_name);
	if (getuid() >= 200000 && getuid() == geteuid() && getgid() == getuid())
		puts("user");
	if (access("/sys", F_OK) == 0)
		puts("sees /sys");
	if (access("/proc/net/dev", R_OK) == 0)
		puts("sees the network");
	FILE *groups = fopen("/proc/self/cgroup", "r");
	while (groups != NULL && fgets(line, sizeof line, groups) != NULL)
		if (strcmp(line + strlen(line) - 3, ":/\n") != 0)
			fputs(line, stdout);
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/'), *verb = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;
	if (strcmp(name ? name + 1 : argv[0], "echo") == 0)
		return print(argc - 1, argv + 1);
	if (strcmp(verb, "print") == 0)
		return print(argc - 2, argv + 2);
	if (strcmp(verb, "exit") == 0)
		return n;
	if (strcmp(verb, "kill") == 0)
		return kill(getpid(), n);
	if (strcmp(verb, "abort") == 0)
		abort();
	if (strcmp(verb, "inspect") == 0)
		return inspect();
	if (strcmp(verb, "orphan") == 0 && fork() != 0)
		return 0;
	while (strcmp(verb, "spin") == 0)
		;
	while (strcmp(verb, "flood") == 0)
		puts("0123456789");
	for (;;)
		pause();
}
