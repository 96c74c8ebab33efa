/* Looks for an earlier run in what statfs and folders count: free blocks,
 * inodes, link counts, and the numbers of the first inode and descriptor that
 * it gets. The sender fills its box before. What must stop it: the box is new,
 * and nothing else can be written. */
#include "attack.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static void fill(void)
{
	static char block[1 << 20];
	int fd = open("/tmp/fill", O_CREAT | O_WRONLY, 0600), files = 0;
	for (int i = 0; i < 4; i++)
		if (write(fd, block, sizeof block) < 0)
			break;
	while (files < 1000) {
		char name[32];
		snprintf(name, sizeof name, "/dev/shm/%d", files);
		if (open(name, O_CREAT | O_WRONLY, 0600) < 0 && mkdir(name, 0700) < 0)
			break;
		files++;
	}
	held("4 MiB and %d files", files);
}

int main(int argc, char **argv)
{
	struct statvfs box, shared;
	struct stat folder, first;
	if (argc > 1 && strcmp(argv[1], "fill") == 0)
		fill();
	if (statvfs("/box", &box) < 0)
		broke("cannot try: %s", strerror(errno));
	unsigned long used = (box.f_blocks - box.f_bfree) * box.f_frsize, inodes = box.f_files - box.f_ffree;
	/* The program itself, four folders. */
	if (used > 3 << 20 || inodes > 8)
		broke("%lu bytes and %lu inodes are used before the first", used, inodes);
	if (stat("/tmp", &folder) < 0 || folder.st_nlink != 2 || folder.st_size > 40) /* . and .. */
		broke("/tmp has %lu links and %lld bytes", (unsigned long)folder.st_nlink, (long long)folder.st_size);
	if (fstat(open("first", O_CREAT | O_WRONLY, 0600), &first) < 0 || first.st_ino > 16)
		broke("the first file has inode %lu", (unsigned long)first.st_ino);
	const char *const others[] = {"/", "/dev", "/proc", "/usr"};
	for (int i = 0; i < 4; i++)
		if (statvfs(others[i], &shared) < 0 || !(shared.f_flag & ST_RDONLY))
			broke("%s can be written", others[i]);
	held("%lu bytes, %lu inodes, first inode %lu", used, inodes, (unsigned long)first.st_ino);
}
