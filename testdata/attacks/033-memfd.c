/* Store a gigabyte where there is no file system: in a memfd, written, truncated
 * and mapped, or reserved. What must stop it: RLIMIT_FSIZE holds for every file,
 * also by ftruncate and fallocate. */
#include "attack.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

int main(void)
{
	static char block[1 << 16];
	off_t large = 1L << 30;
	ssize_t n;
	signal(SIGXFSZ, SIG_IGN);
	int fd = memfd_create("store", 0);
	if (fd < 0)
		held("no memfd: %s", strerror(errno));
	refused(ftruncate(fd, large), "ftruncate");
	refused(fallocate(fd, 0, 0, large), "fallocate");
	refused(fallocate(fd, FALLOC_FL_KEEP_SIZE, large, 4096), "fallocate beyond the end");
	refused(pwrite(fd, "x", 1, large), "pwrite");
	off_t size = 0;
	while ((n = write(fd, block, sizeof block)) > 0 && size < 1 << 24)
		size += n;
	refused(n, "write");
	held("%ld bytes fit in", (long)size);
}
