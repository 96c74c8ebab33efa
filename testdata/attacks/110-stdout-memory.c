/* Take stdout from judged: open the file again to read what it holds or to have it
 * twice, map it shared, so that the answer can change while it is read, seal it, so that
 * it cannot be cut, change its mode. What must stop it: the descriptor is
 * write-only, and the file root's, which others may open for writing only. Seals are left to it: it harms only
 * itself, judged only reads. */
#include "attack.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

int main(void)
{
	char byte;
	refused(read(1, &byte, 1), "read");
	refused(pread(1, &byte, 1, 0), "pread");
	refused(open("/proc/self/fd/1", O_RDWR), "open for both");
	refused(open("/proc/self/fd/1", O_RDONLY), "open for reading");
	int again = open("/dev/stdout", O_WRONLY | O_CREAT, 0666);
	refused(pread(again, &byte, 1, 0), "read what was opened by name");
	refused(fchmod(1, 0666), "fchmod");
	refused(fchown(1, getuid(), getgid()), "fchown");
	refused(fchmodat(AT_FDCWD, "/proc/self/fd/1", 0666, 0), "fchmodat");
	refused(linkat(AT_FDCWD, "/proc/self/fd/1", AT_FDCWD, "mine", AT_SYMLINK_FOLLOW), "linkat");
	for (int protection = PROT_READ; protection <= PROT_EXEC; protection <<= 1)
		if (mmap(NULL, 4096, protection, MAP_SHARED, 1, 0) != MAP_FAILED)
			broke("mapped it, protection %d", protection);
	int seals = fcntl(1, F_ADD_SEALS, F_SEAL_SHRINK);
	held("stdout can only be written to; seals %d", seals);
}
