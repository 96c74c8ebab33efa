/* Enters the namespaces of process 1, and its own once more, by every way to a
 * namespace: files of /proc and a pidfd. Entering one's own user namespace was
 * a way to capabilities in kernels before 3.8.3. What must stop it: hidepid,
 * capabilities, seccomp. */
#include "attack.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

static const char *const kinds[] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"};
static char path[64];

static void by_file(void)
{
	int fd = open(path, O_RDONLY);
	if (fd >= 0 && setns(fd, 0) == 0)
		broke("entered %s", path);
}

static void by_pidfd(void)
{
	int fd = syscall(SYS_pidfd_open, 1, 0);
	if (fd >= 0 && setns(fd, CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS) == 0)
		broke("entered what process 1 is in");
}

int main(void)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		for (int self = 0; self < 2; self++) {
			snprintf(path, sizeof path, "/proc/%s/ns/%s", self ? "self" : "1", kinds[i]);
			apart(by_file, path);
		}
		snprintf(path, sizeof path, "/proc/1/ns/%s", kinds[i]);
		if (open(path, O_RDONLY) >= 0)
			broke("%s can be opened", path);
	}
	apart(by_pidfd, "setns by pidfd");
	if (setns(open("/proc/self/ns/uts", O_RDONLY), 0) == 0)
		broke("entered the own uts namespace, which needs CAP_SYS_ADMIN");
	held("setns: %s", strerror(errno));
}
