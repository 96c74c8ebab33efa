/* After close(1) the next file that is opened is "stdout", and /dev/stdout names it:
 * a file of the box, the input, a FIFO. What must stop it: what judged reads is the
 * file that it made. */
#include "attack.h"
#include <sys/stat.h>

int main(void)
{
	int keep = dup(1);
	close(1);
	if (open("mine", O_CREAT | O_RDWR, 0666) != 1)
		return 1;
	dprintf(1, "broke: this is no output\n");
	int again = open("/dev/stdout", O_WRONLY | O_APPEND);
	dprintf(again, "broke: nor is this\n");
	if (again < 0 || lseek(1, 0, SEEK_END) < 40)
		return 2;
	mkfifo("pipe", 0666);
	refused(symlink("/box/work/mine", "/dev/stdout"), "symlink");
	refused(rename("/dev/stdout", "/dev/other"), "rename");
	refused(unlink("/proc/self/fd/1"), "unlink");
	dup2(keep, 1);
	held("output is what judged made");
}
