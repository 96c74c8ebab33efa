/* As the attack by a futex on a file of /usr, by a static program and the file that
 * its C library opens for LANG. What must stop it: every slot has its own copies. */
#include "attack.h"
#include <linux/futex.h>
#include <locale.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

int main(int argc, char **argv)
{
	setlocale(LC_ALL, ""); /* or the library would not be able to */
	int file = open("/usr/lib/locale/C.utf8/LC_CTYPE", O_RDONLY), woken = 0;
	if (file < 0)
		file = open("/usr/lib/locale/C.UTF-8/LC_CTYPE", O_RDONLY);
	uint32_t *word = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	if (word == MAP_FAILED)
		held("mmap: %s", strerror(errno));
	word += 123; /* nobody else's */
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
