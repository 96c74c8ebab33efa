/* Lists all files that a program sees, except /proc and /box: one line for each, with its type, and for regular files their
 * mode, size, time, file system and inode. */
#define _GNU_SOURCE
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int see(const char *path, const struct stat *st, int type, struct FTW *where)
{
	char target[4096] = "";
	if (strcmp(path, "/proc") == 0 || strcmp(path, "/box") == 0)
		return FTW_SKIP_SUBTREE;
	if (type == FTW_SL && readlink(path, target, sizeof target - 1) > 0)
		printf("%s -> %s\n", path, target);
	else if (S_ISREG(st->st_mode))
		printf("%s %o %lld %lld.%09ld on %u:%u %llu\n", path, st->st_mode & 07777, (long long)st->st_size, (long long)st->st_mtim.tv_sec,
			st->st_mtim.tv_nsec, major(st->st_dev), minor(st->st_dev), (unsigned long long)st->st_ino);
	else
		printf("%s%s\n", path, S_ISDIR(st->st_mode) && where->level > 0 ? "/" : "");
	return FTW_CONTINUE;
}

int main(void) { return nftw("/", see, 64, FTW_PHYS | FTW_ACTIONRETVAL); }
