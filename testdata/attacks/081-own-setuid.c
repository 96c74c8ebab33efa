/* Makes a set-user-ID file of root out of its own copy, by every order of chown
 * and chmod, and runs it. What must stop it: nobody gives files away without
 * CAP_CHOWN; nosuid; no_new_privs. */
#include "attack.h"
#include <fcntl.h>
#include <sys/stat.h>

static void child(void)
{
	uid_t real, effective, saved;
	gid_t group, effective_group, saved_group;
	getresuid(&real, &effective, &saved);
	getresgid(&group, &effective_group, &saved_group);
	if (real != effective || saved != real || group != effective_group || saved_group != group)
		broke("became user %u, group %u from %u, %u", effective, effective_group, real, group);
	_exit(0);
}

static void copy(const char *to)
{
	char buffer[65536];
	int in = open("/proc/self/exe", O_RDONLY), out = open(to, O_CREAT | O_TRUNC | O_WRONLY, 0755);
	ssize_t n;
	while ((n = read(in, buffer, sizeof buffer)) > 0)
		if (write(out, buffer, n) != n)
			broke("cannot try: %s", strerror(errno));
	close(in);
	close(out);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "child") == 0)
		child();
	uid_t before = geteuid();
	for (int order = 0; order < 3; order++) {
		copy("elevate");
		if (order == 1)
			chmod("elevate", 06777);
		if (before != 0 && (chown("elevate", 0, -1) == 0 || chown("elevate", -1, 0) == 0 || lchown("elevate", before + 1, -1) == 0))
			broke("gave a file to another user");
		if (chmod("elevate", order == 2 ? 04755 : 06777) < 0)
			printf("chmod: %s\n", strerror(errno));
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0) {
			execl("./elevate", "elevate", "child", NULL);
			_exit(0);
		}
		int status;
		if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == BROKE_STATUS)
			_exit(BROKE_STATUS);
	}
	held("a set-user-ID file of its own is a plain one");
}
