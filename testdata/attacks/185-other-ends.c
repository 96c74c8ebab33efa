/* Opens the ends of the pipes that are the interactor's: the reading end of its
 * own stdout, the writing end of its own stdin. With them it could read what the
 * interactor has not read yet, and hold the end of the file back. What must stop
 * it: the pipes are root's. */
#include "attack.h"
#include <sys/stat.h>

int main(void)
{
	refused(open("/proc/self/fd/0", O_WRONLY), "open stdin for writing");
	refused(open("/proc/self/fd/0", O_RDWR), "open stdin for both");
	refused(open("/proc/self/fd/1", O_RDONLY | O_NONBLOCK), "open stdout for reading");
	refused(open("/proc/self/fd/1", O_RDWR), "open stdout for both");
	refused(fchmod(0, 0777), "fchmod");
	refused(fchown(1, getuid(), -1), "fchown");
	held("one end of each pipe");
}
