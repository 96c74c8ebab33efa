/* Use up inodes: empty files cost no block, but a kilobyte of the kernel each,
 * and a full table is a full disk for everybody else on it. What must stop it:
 * nr_inodes of the run's own tmpfs. */
#include "attack.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	char name[32];
	int made = 0;
	for (; made < 20000; made++) {
		snprintf(name, sizeof name, "f%d", made);
		if (made % 3 == 0 ? mkdir(name, 0700) : made % 3 == 1 ? mknod(name, S_IFIFO | 0600, 0) : symlink("x", name))
			break;
	}
	int error = errno;
	for (int i = 0; i < made; i++) {
		snprintf(name, sizeof name, "f%d", i);
		remove(name);
	}
	if (made == 20000)
		broke("made %d inodes", made);
	held("made %d inodes, then: %s", made, strerror(error));
}
