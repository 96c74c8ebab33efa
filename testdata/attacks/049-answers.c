/* Read the answers: look through everything that can be seen for tests, answers and
 * checkers, follow the path that stdin's descriptor tells, go up from every
 * descriptor. What must stop it: nothing of the host but programs and libraries is
 * mounted, and the input comes as a descriptor. */
#include "attack.h"
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

static const char *const telling[] = {".ans", ".in", ".out", ".a", ".json", ".toml", ".key", ".pem"};

static int look(const char *path, const struct stat *info, int type, struct FTW *where)
{
	const char *end = strrchr(path + where->base, '.');
	if (type == FTW_D && where->level == 1 && (strcmp(path, "/usr") == 0 || strcmp(path, "/proc") == 0 || strncmp(path, "/lib", 4) == 0))
		return FTW_SKIP_SUBTREE;
	if (type == FTW_F && S_ISREG(info->st_mode) && end != NULL)
		for (unsigned i = 0; i < sizeof telling / sizeof *telling; i++)
			if (strcmp(end, telling[i]) == 0 && strncmp(path, "/etc/", 5) != 0)
				broke("sees %s", path);
	return FTW_CONTINUE;
}

int main(int argc, char **argv)
{
	char name[32], path[4096];
	nftw("/", look, 16, FTW_PHYS | FTW_ACTIONRETVAL);
	static const char *const places[] = {"/home", "/root", "/var/log", "/var/lib/dpkg", "/var/tmp", "/srv", "/opt", "/mnt", "/run", "/sys", "/boot", "/data"};
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
		if (access(places[i], F_OK) == 0)
			broke("there is %s", places[i]);
	for (int fd = 0; fd < 64; fd++) {
		snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
		ssize_t n = readlink(name, path, sizeof path - 1);
		if (n > 0 && path[0] == '/' && strncmp(path, "/dev/", 5) != 0) {
			path[n] = '\0';
			refused(open(path, O_RDONLY), path);
		}
		if (openat(fd, "..", O_RDONLY) >= 0)
			broke("descriptor %d leads up", fd);
	}
	if (argc > 1)
		refused(open(argv[1], O_RDONLY), argv[1]);
	held("nothing to read but the input");
}
