/* Makes judged wait or fail where it looks at the named output while the program runs: there is a
 * file with a lease, a pipe, a folder, a link, a large file, or nothing, in turns. Then it ends
 * with the right answer, on which a child holds a lease. What must stop it: judged opens nothing
 * before the run has ended. */
#include "attack.h"
#include <sys/stat.h>
#include <time.h>

static void put(const char *name, size_t size)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0666);
	if (fd < 0 || (size > 0 && fallocate(fd, 0, 0, size) < 0))
		exit(1);
	close(fd);
}

int main(void)
{
	int ready[2], fd;
	char byte;
	clock_t end = clock() + CLOCKS_PER_SEC / 10;
	put("small", 0);
	put("large", 1 << 20);
	if (mkfifo("pipe", 0666) < 0 || symlink("/box/work/large", "link") < 0 || mkdir("folder", 0777) < 0 || pipe(ready) < 0)
		return 1;
	fd = open("small", O_RDWR);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		printf("no lease: %s\n", strerror(errno));
	while (clock() < end)
		for (const char *const *n = (const char *const[]){"small", "large", "pipe", "link", "folder", NULL}; *n != NULL; n++)
			if (rename(*n, "out") < 0 || rename("out", *n) < 0)
				return 2;
	fd = open("out", O_CREAT | O_RDWR, 0666);
	if (fd < 0 || write(fd, "1\n", 2) != 2)
		return 3;
	close(fd);
	if (fork() == 0) {
		fd = open("out", O_RDONLY);
		fcntl(fd, F_SETLEASE, F_WRLCK);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1)
		return 4;
	held("the answer is written");
}
