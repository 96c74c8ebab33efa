/* Two runs at once wait and wake on the same futex: a shared mapping of a file
 * of /usr, read-only. The kernel's key for it is the inode and the offset, which
 * are the same in all sandboxes that show the host's files. A filter cannot tell
 * this futex from that of pthread_join, which is shared too, and of
 * multiprocessing. What must stop it: every slot has copies of its own, down to
 * /etc/passwd. */
#include "attack.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

int main(int argc, char **argv)
{
	int file = open(host_file(), O_RDONLY), woken = 0;
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
		broke("%d times the run next to it was there", woken);
	held("nobody there");
}
