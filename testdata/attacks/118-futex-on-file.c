/* Two runs at once wait and wake on the same futex: a shared mapping of a file
 * of /usr, read-only. The kernel's key for it is the inode and the offset, which
 * are the same in all sandboxes. A filter cannot tell this futex from that of
 * pthread_join, which is shared too, and of multiprocessing. Open while two
 * runs at once see one same file, if it were /etc/passwd. So both verdicts are
 * allowed. */
#include "attack.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

int main(int argc, char **argv)
{
	int file = open("/usr/bin/env", O_RDONLY), woken = 0;
	if (file < 0)
		file = open("/etc/passwd", O_RDONLY);
	uint32_t *word = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	if (word == MAP_FAILED)
		held("mmap: %s", strerror(errno));
	word += 321; /* nobody else's */
	for (int i = 0; i < 50; i++) {
		struct timespec pause = {0, 10000000};
		if (argc > 1 && strcmp(argv[1], "wake") == 0) {
			woken += syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0) > 0;
			nanosleep(&pause, NULL);
		} else {
			woken += syscall(SYS_futex, word, FUTEX_WAIT, *(volatile uint32_t *)word, &pause, NULL, 0) == 0;
		}
	}
	if (woken > 0)
		broke("%d times the run beside it was there", woken);
	held("nobody there");
}
