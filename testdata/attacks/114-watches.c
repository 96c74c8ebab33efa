/* Watches files of /usr, while the run next to it opens, reads and executes
 * them: inotify, fanotify, dnotify. Watches belong to the inode, which is the
 * same in all sandboxes and on the host. What must stop it: seccomp. */
#include "attack.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

#define FOLDER "/usr"

static volatile sig_atomic_t noticed;

static void notice(int signal_number)
{
	noticed = signal_number;
}

static void use(void)
{
	char byte;
	for (int i = 0; i < 40; i++) {
		int fd = open(host_file(), O_RDONLY);
		if (fd < 0 || read(fd, &byte, 1) != 1)
			broke("cannot try: %s", strerror(errno));
		close(fd);
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
	held("used %s 40 times", host_file());
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "use") == 0)
		use();
	struct pollfd watches[2] = {{inotify_init1(IN_NONBLOCK), POLLIN, 0}, {fanotify_init(FAN_CLASS_NOTIF | FAN_NONBLOCK | FAN_REPORT_FID, 0), POLLIN, 0}};
	printf("inotify %d, fanotify %d\n", watches[0].fd, watches[1].fd);
	if (watches[0].fd >= 0)
		inotify_add_watch(watches[0].fd, host_file(), IN_OPEN | IN_ACCESS);
	if (watches[1].fd >= 0)
		fanotify_mark(watches[1].fd, FAN_MARK_ADD, FAN_OPEN | FAN_ACCESS, AT_FDCWD, host_file());
	signal(SIGIO, notice);
	int folder = open(FOLDER, O_RDONLY | O_DIRECTORY), own = open(".", O_RDONLY | O_DIRECTORY);
	refused(fcntl(folder, F_NOTIFY, DN_ACCESS | DN_MULTISHOT), "dnotify on " FOLDER);
	refused(fcntl(own, F_NOTIFY, DN_CREATE | DN_MULTISHOT), "dnotify on its own folder");
	for (int i = 0; i < 40; i++) {
		if (poll(watches, 2, 10) > 0)
			broke("saw what the run next to it does");
		if (noticed)
			broke("was signalled what the run next to it does");
	}
	held("saw nothing");
}
