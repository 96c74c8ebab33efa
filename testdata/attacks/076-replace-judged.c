/* Overwrites the program of judged through /proc: container runtimes were taken
 * over by a write to /proc/self/exe of the process that enters the container
 * (CVE-2019-5736). What must stop it: judged's processes are not visible, and
 * /proc/self/exe is a copy of root's in a read-only mount. */
#include "attack.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static const char *const links[] = {"/proc/self/exe", "/proc/thread-self/exe", "/proc/1/exe", "/proc/2/exe",
	"/proc/self/map_files/400000-401000", "/proc/judged-init"};

int main(void)
{
	struct stat exe;
	struct statvfs mount;
	char path[64], target[256];
	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		if (open(links[i], O_WRONLY) >= 0 || open(links[i], O_RDWR) >= 0)
			broke("%s can be written while it runs", links[i]);
		printf("%s: %s\n", links[i], strerror(errno));
		/* The detour: hold it by O_PATH, open that again for writing. */
		int held_fd = open(links[i], O_PATH);
		if (held_fd < 0)
			continue;
		snprintf(path, sizeof path, "/proc/self/fd/%d", held_fd);
		if (open(path, O_WRONLY) >= 0)
			broke("%s can be written by way of %s", links[i], path);
	}
	ssize_t n = readlink("/proc/self/exe", target, sizeof target - 1);
	if (n <= 0)
		broke("cannot try: readlink: %s", strerror(errno));
	target[n] = 0;
	if (stat("/proc/self/exe", &exe) < 0 || statvfs("/proc/self/exe", &mount) < 0)
		broke("cannot try: %s", strerror(errno));
	if (exe.st_uid != 0 || !(mount.f_flag & ST_RDONLY))
		broke("the program %s belongs to user %d, on a mount with flags %lx", target, (int)exe.st_uid, mount.f_flag);
	/* Other runs have the same copy. The link to it in the working directory is the run's own. */
	if (unlink(target) == 0 || rename(target, "mine") == 0 || chmod(target, 0777) == 0 || utimensat(AT_FDCWD, target, NULL, 0) == 0)
		broke("%s can be changed", target);
	held("the program cannot be changed");
}
