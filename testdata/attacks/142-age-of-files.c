/* Reads from the age of its own folders and of /proc how long the run before it
 * took: a sandbox that is prepared while the previous run lasts is as old as
 * that. The first run sleeps for two seconds; the second one looks for anything
 * that was made more than a second before it began, by all times that there
 * are. What must stop it: these file systems are made when the run before has
 * ended. */
#include "attack.h"
#include <sys/stat.h>
#include <time.h>

static void compare(const char *path, const char *which, struct statx_timestamp at, struct timespec now)
{
	double age = now.tv_sec - at.tv_sec + (now.tv_nsec - (double)at.tv_nsec) / 1e9;
	if (age > 1 && age < 1000) /* 1970 is no time */
		broke("%s of %s is %.3f s old", which, path, age);
}

int main(int argc, char **argv)
{
	static const char *const paths[] = {"/box", "/box/work", "/box/tmp", "/box/shm", "/proc", "/proc/self", "/proc/thread-self", "/proc/self/stat", "/proc/self/fd/0"};
	struct timespec now;
	struct statx x;
	clock_gettime(CLOCK_REALTIME, &now);
	if (argc > 1 && strcmp(argv[1], "sleep") == 0) {
		nanosleep(&(struct timespec){2, 0}, NULL);
		held("slept");
	}
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		if (statx(AT_FDCWD, paths[i], i == 8 ? 0 : AT_SYMLINK_NOFOLLOW, STATX_ALL, &x) != 0)
			continue;
		compare(paths[i], "the time of access", x.stx_atime, now);
		compare(paths[i], "the time of modification", x.stx_mtime, now);
		compare(paths[i], "the time of change", x.stx_ctime, now);
		if (x.stx_mask & STATX_BTIME)
			compare(paths[i], "the time of creation", x.stx_btime, now);
	}
	held("all is as old as the run");
}
