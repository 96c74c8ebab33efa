/* Fill every file system that may be written to, with many files, each below
 * RLIMIT_FSIZE, and keep the deleted ones open. What must stop it: one tmpfs with a
 * size for the working directory, /tmp and /dev/shm together, and the memory cgroup
 * counts its pages: here they are used up first. */
#include "attack.h"
#include <fcntl.h>
#include <signal.h>

int main(void)
{
	static const char *const places[] = {".", "/tmp", "/dev/shm", "/var/tmp", "/run", "/", "/dev"};
	static char block[1 << 20];
	char path[64];
	int written = 0;
	signal(SIGXFSZ, SIG_IGN);
	memset(block, 1, sizeof block);
	for (int n = 0; n < 512; n++)
		for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
			snprintf(path, sizeof path, "%s/judged-attack-%d", places[i], n);
			int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
			if (fd < 0)
				continue;
			if (write(fd, block, sizeof block) == sizeof block)
				written++;
			if (n % 2 == 0) {
				unlink(path);
				if (n < 100)
					continue;
			}
			close(fd);
			if (written >= 256)
				broke("wrote %d MiB", written);
		}
	held("wrote %d MiB, then: %s", written, strerror(errno));
}
