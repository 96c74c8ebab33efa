/* Climbs out by "..": from the working folder, from descriptors, from
 * /proc/self/cwd and root, and from a folder that is moved meanwhile. {canary}
 * is a file of the host. What must stop it: the old root is not mounted any
 * more (pivot_root, then a detached umount). */
#include "attack.h"
#include <fcntl.h>
#include <sys/stat.h>

static char up[4096];

static void look(int folder, const char *canary, const char *from)
{
	char path[8192];
	snprintf(path, sizeof path, "%s%s", up, canary + 1);
	if (openat(folder, path, O_RDONLY) >= 0)
		broke("the host's %s is there, from %s", canary, from);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 1;
	static const char *const starts[] = {"/", ".", "/box", "/tmp", "/dev", "/usr", "/proc", "/proc/self", "/proc/self/cwd", "/proc/self/root",
		"/proc/self/root/..", "/proc/self/cwd/../../..", "/proc/self/fd"};
	struct stat root, top;
	for (int i = 0; i < 1000; i++)
		strcat(up, "../");
	if (open(argv[1], O_RDONLY) >= 0)
		broke("the host's %s is there", argv[1]);
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		int folder = open(starts[i], O_RDONLY | O_DIRECTORY);
		if (folder < 0)
			broke("cannot try: %s: %s", starts[i], strerror(errno));
		look(folder, argv[1], starts[i]);
		if (stat("/", &root) < 0 || fstatat(folder, up, &top, 0) < 0)
			broke("cannot try: %s", strerror(errno));
		if (root.st_dev != top.st_dev || root.st_ino != top.st_ino)
			broke("there is something above /, from %s", starts[i]);
		close(folder);
	}
	/* A folder that moves while it is the working one. */
	if (mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0 && chdir("a/b") == 0 && rename("/box/work/a/b", "/tmp/b") == 0)
		look(AT_FDCWD, argv[1], "a moved folder");
	char cwd[4096];
	if (getcwd(cwd, sizeof cwd) == NULL || cwd[0] != '/')
		broke("the working folder lies outside the root: %s", cwd);
	held("/ is the top, from everywhere");
}
