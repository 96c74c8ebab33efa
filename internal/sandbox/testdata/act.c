/* The program of most tests. The first argument selects what it does; as "echo" it prints its arguments. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int print(int n, char **words)
{
	for (int i = 0; i < n; i++)
		printf("%s%s", i ? " " : "", words[i]);
	return putchar('\n') < 0;
}

/* Prints its working directory, what it may write, its user, and what it sees of the host: one finding a line. */
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

/* Leaves behind all that a program can: files, shared memory, a pipe, an orphan in a new session. */
static int litter(void)
{
	char page[4096] = "litter";
	int pipes[2], files[] = {open("a", O_CREAT | O_RDWR, 0600), open("/tmp/b", O_CREAT | O_RDWR, 0600),
		open("/dev/shm/c", O_CREAT | O_RDWR, 0600), memfd_create("d", 0)};
	mkdir("e", 0700);
	symlink("a", "e/f");
	for (int i = 0; i < 4; i++)
		if (files[i] < 0 || write(files[i], page, sizeof page) != sizeof page ||
		    mmap(NULL, sizeof page, PROT_READ | PROT_WRITE, MAP_SHARED, files[i], 0) == MAP_FAILED)
			return 1;
	memset(mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, 1 << 16);
	if (pipe(pipes) < 0 || write(pipes[1], page, sizeof page) < 0 || puts("litter") < 0)
		return 2;
	fflush(stdout);
	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			alarm(60);
		for (;;)
			pause();
	}
	return 0;
}

/* Copies stdin to stdout and to stderr, opens all of them by name, and counts how they can be opened the other way. */
static int reopen(void)
{
	static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
	char buf[256];
	int from = open(names[0], O_RDONLY), out = open(names[1], O_CREAT | O_TRUNC | O_WRONLY, 0666),
		err = open(names[2], O_CREAT | O_APPEND | O_WRONLY, 0666), refused = 0;
	for (int i = 0; i < 3; i++)
		refused += (open(names[i], O_RDWR | O_NONBLOCK) < 0) + (open(names[i], (i ? O_RDONLY : O_WRONLY) | O_NONBLOCK) < 0) +
			   (fchmod(i, 0666) < 0);
	ssize_t n = read(from, buf, sizeof buf);
	return n <= 0 || write(out, buf, n) != n || write(err, buf, n) != n || refused != 9;
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
	if (strcmp(verb, "litter") == 0)
		return litter();
	if (strcmp(verb, "reopen") == 0)
		return reopen();
	if (strcmp(verb, "orphan") == 0 && fork() != 0)
		return 0;
	while (strcmp(verb, "spin") == 0)
		;
	while (strcmp(verb, "flood") == 0)
		puts("0123456789");
	for (;;)
		pause();
}
