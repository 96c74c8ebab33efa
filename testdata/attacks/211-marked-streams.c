/* Opens its streams again by name and changes all that a file or its open
 * description can keep; the next run of the slot looks for that. What must stop it:
 * stdout and stderr are new for each run, and of the input each run has its own
 * description, and no right to change the file. */
#include "attack.h"
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};

static void set(int fd, const char *name)
{
	struct flock whole = {.l_type = F_RDLCK};
	lseek(fd, 77, SEEK_SET);
	fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC | O_NOATIME);
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETSIG, 40);
	fcntl(fd, F_SETLEASE, F_RDLCK);
	fcntl(fd, F_OFD_SETLK, &whole);
	flock(fd, LOCK_EX | LOCK_NB);
	fcntl(fd, F_SET_RW_HINT, &(unsigned long){3});
	fcntl(fd, F_ADD_SEALS, F_SEAL_GROW);
	fsetxattr(fd, "user.mark", "x", 1, 0);
	setxattr(name, "user.mark", "x", 1, 0);
	futimens(fd, (struct timespec[]){{1, 0}, {2, 0}});
	fchmod(fd, 0777);
	if (write(fd, "", 0) < 0)
		return;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++) {
		int fd = open(names[i], i ? O_WRONLY : O_RDONLY), both[] = {i, fd};
		if (fd < 0)
			return 1;
		for (int k = 0; k < 2; k++) {
			struct stat s;
			char mark;
			if (argc > 1 && strcmp(argv[1], "set") == 0) {
				set(both[k], names[i]);
				continue;
			}
			if (fstat(both[k], &s) < 0)
				return 2;
			if (lseek(both[k], 0, SEEK_CUR) != 0)
				broke("%s has another position", names[i]);
			if (fcntl(both[k], F_GETFL) & (O_NONBLOCK | O_ASYNC))
				broke("%s has flags", names[i]);
			if (fgetxattr(both[k], "user.mark", &mark, 1) == 1)
				broke("%s has an attribute", names[i]);
			if (i > 0 && (fcntl(both[k], F_GET_SEALS) & F_SEAL_GROW))
				broke("%s has a seal", names[i]);
			if ((s.st_mode & 0777) == 0777 || s.st_mtim.tv_sec == 2)
				broke("%s has another mode or time", names[i]);
		}
	}
	held("nothing is kept");
}
