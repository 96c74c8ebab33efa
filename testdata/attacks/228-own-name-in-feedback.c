/* Changes the program that the next repeat executes. What must stop it: the copy is
 * on a read-only mount and root's, and the next run has its own box. */
#include "attack.h"
#include <sys/stat.h>

int main(int argc, char **argv)
{
	char self[256];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n <= 0)
		return 1;
	self[n] = 0;
	if (argc > 1 && strcmp(argv[1], "get") == 0) {
		struct stat s;
		if (stat("mark", &s) == 0 || stat("/box/mark", &s) == 0 || stat("/tmp/mark", &s) == 0)
			broke("the box is not new");
		held("%s is as it was", self);
	}
	refused(open("/proc/self/exe", O_WRONLY), "/proc/self/exe");
	refused(open("/proc/self/exe", O_RDWR | O_TRUNC), "/proc/self/exe");
	refused(open(self, O_WRONLY), self);
	refused(chmod(self, 0777), "chmod");
	refused(unlink(self), "unlink");
	refused(rename(self, "mine"), "rename");
	refused(mkdir("/files/mine", 0777), "mkdir");
	refused(symlink("/box/work", "/files/mine"), "symlink");
	refused(link(self, "/files/mine"), "link");
	rename(argv[0], "moved");
	int mark = open("mark", O_CREAT | O_WRONLY, 0666), tmp = open("/tmp/mark", O_CREAT | O_WRONLY, 0666);
	held("%s is as it was; %d %d", self, mark, tmp);
}
