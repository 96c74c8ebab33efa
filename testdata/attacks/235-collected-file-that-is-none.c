/* Puts something else in the place of a file that the job collects: a link to a
 * file of the host, by several ways, a pipe that nobody writes to, a folder, a
 * device, a socket, another name of the input. Who opens it by name as root hands
 * out a file of the host, or waits for ever. What must stop it: as for a named
 * output file. */
#include "attack.h"
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

int main(int argc, char **argv)
{
	char through[4096];
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "out"};
	if (argc < 3)
		return 1;
	const char *way = argv[2];
	if (!strcmp(way, "link")) {
		if (symlink(argv[1], "out") < 0)
			return 1;
	} else if (!strcmp(way, "proc")) {
		snprintf(through, sizeof through, "/proc/1/root%s", argv[1]);
		if (symlink(through, "out") < 0)
			return 1;
	} else if (!strcmp(way, "folder-link")) { /* the folder of the file is the link */
		*strrchr(argv[1], '/') = 0;
		snprintf(through, sizeof through, "%s", argv[1]);
		if (rename("/box/work", "/box/tmp/old") == 0 || symlink(through, "/box/work") == 0)
			broke("the folder can be replaced");
	} else if (!strcmp(way, "pipe")) {
		if (mkfifo("out", 0666) < 0)
			return 1;
	} else if (!strcmp(way, "folder")) {
		if (mkdir("out", 0777) < 0)
			return 1;
	} else if (!strcmp(way, "device")) {
		refused(mknod("out", S_IFCHR | 0666, makedev(1, 5)), "mknod");
	} else if (!strcmp(way, "socket")) {
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		if (s >= 0)
			(void)!bind(s, (struct sockaddr *)&address, sizeof address);
	} else if (!strcmp(way, "input")) {
		refused(linkat(AT_FDCWD, "/proc/self/fd/0", AT_FDCWD, "out", AT_SYMLINK_FOLLOW), "linkat");
	}
	held("no file is called out");
}
