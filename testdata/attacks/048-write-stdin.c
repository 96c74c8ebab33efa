/* Change the input for the next run: write to stdin, open it again for writing, map
 * it shared, seal it, give it to itself. It is a file that other runs read. What must
 * stop it: a read-only descriptor of a file that belongs to another user. Nothing
 * here changes it if allowed. */
#include "attack.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

int main(void)
{
	struct stat in;
	if (fstat(0, &in) != 0 || !S_ISREG(in.st_mode))
		broke("cannot try: stdin is no file");
	refused(write(0, "", 0), "write");
	refused(ftruncate(0, in.st_size), "ftruncate");
	refused(fallocate(0, FALLOC_FL_KEEP_SIZE, 0, 1), "fallocate");
	refused(fchmod(0, in.st_mode & 07777), "fchmod");
	refused(fchown(0, getuid(), getgid()), "fchown");
	refused(open("/proc/self/fd/0", O_WRONLY), "open for writing");
	refused(open("/dev/stdin", O_RDWR), "open for both");
	refused(open("/proc/self/fd/0", O_RDONLY | O_TRUNC), "open and truncate");
	refused(linkat(AT_FDCWD, "/proc/self/fd/0", AT_FDCWD, "mine", AT_SYMLINK_FOLLOW), "linkat");
	refused(fcntl(0, F_ADD_SEALS, 0), "seal");
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0) != MAP_FAILED)
		broke("mapped it writable");
	void *read_only = mmap(NULL, 4096, PROT_READ, MAP_SHARED, 0, 0);
	if (read_only != MAP_FAILED)
		refused(mprotect(read_only, 4096, PROT_READ | PROT_WRITE), "mprotect");
	held("stdin can only be read");
}
