/* Changes what later runs of the slot find of the C library's files: contents,
 * times, modes, names, new files next to them, locks. What must stop it: they are on
 * a read-only mount, and root's. */
#include "attack.h"
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

int main(void)
{
	static const char *const files[] = {"/usr/lib/locale/C.utf8/LC_CTYPE", "/usr/lib/locale/C.UTF-8/LC_CTYPE",
		"/usr/share/zoneinfo/UTC", "/usr/share/zoneinfo/Asia/Tokyo", "/usr/lib/x86_64-linux-gnu/gconv/gconv-modules.cache",
		"/usr/lib/aarch64-linux-gnu/gconv/gconv-modules.cache", "/etc/passwd", "/etc/localtime"};
	char path[128];
	int seen = 0;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		int fd = open(files[i], O_RDONLY);
		if (fd < 0)
			continue;
		seen++;
		refused(open(files[i], O_WRONLY), files[i]);
		refused(open(files[i], O_RDWR), files[i]);
		refused(truncate(files[i], 0), "truncate");
		refused(chmod(files[i], 0777), "chmod");
		refused(fchmod(fd, 0777), "fchmod");
		refused(futimens(fd, NULL), "futimens");
		refused(utimensat(AT_FDCWD, files[i], NULL, 0), "utimensat");
		refused(fsetxattr(fd, "user.mark", "x", 1, 0), "fsetxattr");
		refused(fcntl(fd, F_SETLEASE, F_RDLCK), "lease");
		refused(unlink(files[i]), "unlink");
		refused(rename(files[i], "mine"), "rename");
		refused(link(files[i], "mine"), "link");
		snprintf(path, sizeof path, "%s.mine", files[i]);
		refused(open(path, O_CREAT | O_WRONLY, 0666), path);
		close(fd);
	}
	held("%d files as they were", seen);
}
