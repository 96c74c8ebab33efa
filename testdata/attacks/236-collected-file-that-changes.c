/* Leaves a process behind that changes a collected file while judged reads it: it
 * puts a link to a file of the host in its place and takes it away again, or
 * shortens and lengthens it. Or makes the file as long as holes can be. What must
 * stop it: the file is read after the last process of the run is gone, from one
 * descriptor, and only as much as the job keeps. */
#include "attack.h"
#include <signal.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	if (argc < 3)
		return 1;
	const char *way = argv[2];
	signal(SIGXFSZ, SIG_IGN);
	int f = open("out", O_CREAT | O_RDWR, 0600);
	if (f < 0 || write(f, "1234", 4) != 4)
		return 1;
	if (!strcmp(way, "sparse")) {
		if (ftruncate(f, 1LL << 40) == 0)
			broke("a file has a terabyte");
		for (off_t size = 1LL << 39; size > 4; size /= 2)
			if (ftruncate(f, size) == 0)
				break;
		held("the file is as long as it may be");
	}
	if (symlink(argv[1], "link") < 0)
		return 1;
	pid_t left = fork();
	if (left < 0)
		return 1;
	if (left > 0) {
		usleep(20000); /* it has begun */
		held("a process stays");
	}
	setsid();
	if (fork() > 0)
		_exit(0);
	for (;;) {
		if (!strcmp(way, "swap")) {
			rename("out", "file");
			rename("link", "out");
			rename("out", "link");
			rename("file", "out");
		} else {
			(void)!ftruncate(f, 0);
			(void)!pwrite(f, "1234", 4, 0);
		}
	}
}
