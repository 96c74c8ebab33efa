/* Two runs at once: one locks a file that both see, in every way there is; the
 * other sees the lock. Locks belong to the inode, which is the same in all
 * sandboxes. What must stop it is seccomp; flock answers success without
 * effect. isolate had this channel until 2.4. */
#include "attack.h"
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

#define OFFSET 0x4a554447

static int file(const char *path)
{
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		broke("cannot try: %s: %s", path, strerror(errno));
	return fd;
}

static struct flock at(short type, off_t start)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

static void lock(void)
{
	struct flock posix = at(F_RDLCK, OFFSET), ofd = at(F_RDLCK, OFFSET + 1);
	int a = file(host_file()), b = file(host_file()), c = file(host_file());
	int p = fcntl(a, F_SETLK, &posix), o = fcntl(b, F_OFD_SETLK, &ofd);
	int f = flock(c, LOCK_EX | LOCK_NB), l = fcntl(c, F_SETLEASE, F_RDLCK);
	pause_ms(500);
	held("locked: posix %d, ofd %d, flock %d, lease %d", p, o, f, l);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "lock") == 0)
		lock();
	int a = file(host_file()), c = file(host_file());
	for (int i = 0; i < 40; i++, pause_ms(10)) {
		struct flock posix = at(F_WRLCK, OFFSET), ofd = at(F_WRLCK, OFFSET + 1);
		if (fcntl(a, F_GETLK, &posix) == 0 && posix.l_type != F_UNLCK)
			broke("another run holds a lock");
		if (fcntl(a, F_OFD_GETLK, &ofd) == 0 && ofd.l_type != F_UNLCK)
			broke("another run holds a lock of an open file");
		if (flock(c, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
			broke("another run holds the flock");
		if (flock(c, LOCK_UN) < 0)
			printf("flock: %s\n", strerror(errno));
	}
	held("no lock to be seen");
}
