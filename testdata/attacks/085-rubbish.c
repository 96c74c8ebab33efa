/* Leaves what makes cleaning up slow or fail: folders 1500 deep, more than a
 * path can name; names with newlines and dashes; FIFOs, hard links, folders
 * without rights, a file of 1 TiB of holes. What must stop it: nothing is walked
 * through, the tmpfs goes with the last mount of it, and its inodes are few. */
#include "attack.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < 200; i++) {
		char name[64], second[64];
		snprintf(name, sizeof name, "-rf \n%d\033[2J", i);
		snprintf(second, sizeof second, "%d;halt", i);
		if (mkfifo(name, 0) < 0 || link(name, second) < 0)
			printf("fifo %d: %s\n", i, strerror(errno));
	}
	int sparse = open("sparse", O_CREAT | O_RDWR, 0600);
	if (ftruncate(sparse, 1LL << 40) == 0)
		broke("a file larger than its limit");
	if (pwrite(sparse, "x", 1, 1LL << 40) == 1)
		broke("a byte beyond the limit");
	if (fallocate(sparse, 0, 0, 1LL << 36) == 0)
		broke("64 GiB could be allocated");
	int depth = 0, inodes = 0;
	while (depth < 1500 && mkdir("d", 0700) == 0 && chdir("d") == 0)
		depth++;
	chmod(".", 0);
	while (inodes < 20000) {
		char name[16];
		snprintf(name, sizeof name, "/tmp/%d", inodes);
		int fd = open(name, O_CREAT | O_WRONLY, 0600);
		if (fd < 0)
			break;
		close(fd);
		inodes++;
	}
	if (inodes == 20000)
		broke("%d files", inodes);
	held("left folders %d deep and %d files: %s", depth, inodes, strerror(errno));
}
