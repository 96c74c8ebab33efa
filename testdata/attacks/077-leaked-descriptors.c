/* Looks for descriptors that judged left open, and for more rights in the three
 * it has to give: runc leaked one of /sys/fs/cgroup, which was the way out of
 * the container (CVE-2024-21626). What must stop it: all from 3 on close with
 * execve; the streams are opened one way only, in files of another user. */
#include "attack.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

int main(void)
{
	char path[32];
	for (int fd = 3; fd < 70000; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			broke("descriptor %d is open", fd);
	if ((fcntl(0, F_GETFL) & O_ACCMODE) != O_RDONLY)
		broke("stdin is not read-only");
	for (int fd = 1; fd <= 2; fd++) {
		if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY)
			broke("stream %d is not write-only", fd);
		if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
			broke("stream %d can be mapped", fd);
	}
	for (int fd = 0; fd <= 2; fd++) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		/* Not for stdin: that may be /dev/null, which everybody may write. */
		if (fd > 0 && open(path, O_RDWR) >= 0)
			broke("%s can be opened again with more rights", path);
		if (fchmod(fd, 0777) == 0)
			broke("the mode of stream %d can be changed", fd);
		if (openat(fd, "..", O_RDONLY | O_DIRECTORY) >= 0)
			broke("stream %d is a folder", fd);
	}
	held("three streams, one way each");
}
