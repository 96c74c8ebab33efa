/* Sets the times and the mode of its empty input. Where that is /dev/null it is
 * the host's, for every run and for everybody else: a descriptor that may only
 * read is enough to set the times of a file that all may write to. What must
 * stop it: an empty file in memory, made for this run alone. */
#include "attack.h"
#include <sys/stat.h>

int main(void)
{
	static const struct timespec past[2] = {{1000000000, 42}, {1000000000, 42}};
	struct stat info;
	char byte;
	if (fstat(0, &info) != 0 || read(0, &byte, 1) != 0)
		broke("cannot try: the input is not empty");
	refused(futimens(0, NULL), "futimens to now");
	refused(futimens(0, past), "futimens to the past");
	refused(fchmod(0, 0600), "fchmod");
	refused(open("/proc/self/fd/0", O_RDWR), "open to write");
	if (!S_ISREG(info.st_mode))
		broke("the input is a thing of the host, mode %o", info.st_mode);
	held("an empty file, mode %o", info.st_mode);
}
