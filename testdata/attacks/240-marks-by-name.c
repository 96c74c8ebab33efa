/* Changes its named input through the name, and leaves marks on it for the next run, which
 * looks for them: content, mode, owner, times, locks, leases, attributes, other names, another
 * file in its place. What must stop it: a read-only mount of a file that belongs to root. */
#include "attack.h"
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static void set(void)
{
	static const struct timespec past[2] = {{1000000000, 42}, {1000000000, 42}};
	struct flock whole = {.l_type = F_RDLCK};
	int fd = open("in", O_RDONLY);
	if (fd < 0)
		broke("cannot try: open: %s", strerror(errno));
	refused(open("in", O_WRONLY), "open for writing");
	refused(open("in", O_RDONLY | O_TRUNC), "open and truncate");
	refused(open("in", O_RDWR | O_CREAT | O_EXCL, 0666), "create");
	refused(truncate("in", 0), "truncate");
	refused(chmod("in", 0666), "chmod");
	refused(chown("in", getuid(), getgid()), "chown");
	refused(utimensat(AT_FDCWD, "in", NULL, 0), "utimensat to now");
	refused(utimensat(AT_FDCWD, "in", past, 0), "utimensat to the past");
	refused(setxattr("in", "user.mark", "x", 1, 0), "setxattr");
	refused(setxattr("in", "trusted.mark", "x", 1, 0), "setxattr");
	refused(unlink("in"), "unlink");
	refused(rename("in", "other"), "rename");
	refused(link("in", "other"), "link");
	refused(linkat(fd, "", AT_FDCWD, "other", AT_EMPTY_PATH), "linkat");
	close(open("mine", O_CREAT | O_WRONLY, 0666));
	refused(rename("mine", "in"), "rename over it");
	refused(syscall(SYS_renameat2, AT_FDCWD, "mine", AT_FDCWD, "in", 2 /* RENAME_EXCHANGE */), "exchange");
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
		broke("mapped it writable");
	fcntl(fd, F_SETLEASE, F_RDLCK);
	fcntl(fd, F_OFD_SETLK, &whole);
	flock(fd, LOCK_EX | LOCK_NB);
	fcntl(fd, F_SET_RW_HINT, &(unsigned long){3});
	lseek(fd, 3, SEEK_SET);
}

static void get(void)
{
	char text[16] = "";
	struct stat s, l;
	int fd = open("in", O_RDONLY);
	if (fd < 0 || fstat(fd, &s) < 0 || lstat("in", &l) < 0)
		broke("cannot try: %s", strerror(errno));
	if (s.st_ino != l.st_ino || s.st_dev != l.st_dev)
		broke("another file");
	if (s.st_uid != 0 || (s.st_mode & 07777) != 0444 || s.st_nlink != 1 || s.st_mtim.tv_sec != 0 || s.st_atim.tv_sec != 0)
		broke("mode %o, user %d, %d names, times %ld and %ld", s.st_mode, (int)s.st_uid, (int)s.st_nlink, (long)s.st_mtim.tv_sec, (long)s.st_atim.tv_sec);
	int lease = fcntl(fd, F_GETLEASE);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || (lease >= 0 && lease != F_UNLCK))
		broke("it is locked");
	if (listxattr("in", text, sizeof text) > 0)
		broke("it has an attribute");
	if (read(fd, text, sizeof text) != 6 || strcmp(text, "1 2 3\n") != 0)
		broke("it has another text");
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "set") == 0)
		set();
	else
		get();
	held("the input is as it was");
}
