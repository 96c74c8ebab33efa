/* Looks for a name of the two pipes that opens the end of the interactor: /dev/fd,
 * the folders of its threads, descriptors without rights, descriptors of a child,
 * and by their owner. What must stop it: the mode counts, whatever the name. */
#include "attack.h"
#include <sys/stat.h>

static void try(const char *base)
{
	char path[64];
	for (int fd = 0; fd < 2; fd++) {
		snprintf(path, sizeof path, "%s/%d", base, fd);
		refused(open(path, O_RDWR | O_NONBLOCK), path);
		refused(open(path, (fd ? O_RDONLY : O_WRONLY) | O_NONBLOCK), path);
		int none = open(path, O_PATH);
		char by[64];
		snprintf(by, sizeof by, "/proc/self/fd/%d", none);
		refused(open(by, O_RDWR | O_NONBLOCK), "open what was opened by path");
		refused(fchmodat(AT_FDCWD, path, 0666, 0), "fchmodat");
		refused(fchownat(AT_FDCWD, path, getuid(), getgid(), 0), "fchownat");
		close(none);
	}
}

static void child(void) { try("/proc/thread-self/fd"); }

int main(void)
{
	char path[64];
	try("/dev/fd");
	try("/proc/self/fd");
	snprintf(path, sizeof path, "/proc/self/task/%d/fd", getpid());
	try(path);
	apart(child, "in a child");
	held("one direction of each");
}
