/* The parent ends with a right answer; its child, in a new process group, waits for that
 * and opens /dev/stdout by name, truncates it and writes another. What must stop it:
 * nothing of the run is alive when the output is read. */
#include "attack.h"
#include <signal.h>
#include <sys/prctl.h>

int main(void)
{
	int ready[2];
	char byte;
	if (pipe(ready) < 0)
		return 1;
	if (fork() == 0) {
		setpgid(0, 0);
		pid_t parent = getppid();
		int early = open("/dev/stdout", O_WRONLY);
		close(ready[0]);
		if (early < 0 || write(ready[1], "x", 1) < 0)
			_exit(1);
		while (getppid() == parent)
			;
		for (;;) {
			int fd = open("/dev/stdout", O_WRONLY | O_TRUNC);
			dprintf(fd, "broke: written after the end\n");
			dprintf(early, "broke: written after the end\n");
			close(fd);
		}
	}
	if (read(ready[0], &byte, 1) != 1)
		return 2;
	held("the answer of the parent");
}
