/* Leaves files, memory and a process in the first pass for the second one, and
 * looks there for them, and for what the checker has written about the first. A
 * program with a memory is not what a multi-pass problem asks for. What must stop
 * it: each pass is a run with its own box, pid namespace and control group. */
#include "attack.h"
#include <signal.h>

static const char *const folders[] = {".", "/tmp", "/dev/shm", "/box", "/box/work", "/box/tmp", "/box/feedback"};
enum { folder_count = sizeof folders / sizeof *folders };

static void leave(void)
{
	char path[4096];
	for (size_t i = 0; i < folder_count; i++) {
		snprintf(path, sizeof path, "%s/left", folders[i]);
		int f = open(path, O_CREAT | O_WRONLY, 0666);
		if (f < 0)
			printf("%s: %s\n", path, strerror(errno));
	}
	if (fork() == 0)
		for (;;)
			pause();
}

static void look(void)
{
	char path[4096];
	for (size_t i = 0; i < folder_count; i++) {
		static const char *const names[] = {"left", "passes", "judgemessage.txt", "nextpass.in"};
		for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
			snprintf(path, sizeof path, "%s/%s", folders[i], names[j]);
			if (access(path, F_OK) == 0)
				broke("%s is there", path);
		}
	}
	for (int pid = 2; pid < 1 << 16; pid++)
		if (pid != getpid() && kill(pid, 0) == 0)
			broke("process %d is there", pid);
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			broke("descriptor %d is open", fd);
}

int main(void)
{
	char line[64] = "";
	if (!fgets(line, sizeof line, stdin))
		return 1;
	if (!strcmp(line, "first\n")) {
		dprintf(1, "second\n"); /* what the checker makes the input of the next pass */
		dup2(2, 1);
		leave();
		fflush(stdout);
		_exit(0);
	}
	look();
	held("nothing is left of the first pass");
}
