/* Leaves a mark in the times of its input, which every repeat of a test reads:
 * reading sets the time of access, through the descriptor, through another one
 * of the same file that it opens itself, and by a mapping; or the times are set
 * by hand. What must stop it: a file of another user, on a mount that keeps no
 * time of access. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

static struct timespec clock_of_files(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now;
}

int main(void)
{
	static const struct timespec past[2] = {{1000000000, 42}, {1000000000, 42}};
	struct stat before, after;
	char byte;
	struct timespec start = clock_of_files();
	fstat(0, &before);
	while (clock_of_files().tv_nsec == start.tv_nsec)
		;
	fcntl(0, F_SETFL, 0); /* no O_NOATIME */
	if (read(0, &byte, 1) != 1 || lseek(0, 0, SEEK_SET) != 0)
		broke("cannot try: read: %s", strerror(errno));
	int again = open("/proc/self/fd/0", O_RDONLY);
	if (again < 0 || read(again, &byte, 1) != 1)
		broke("cannot try: open again: %s", strerror(errno));
	volatile char *mapping = mmap(NULL, 1, PROT_READ, MAP_SHARED, again, 0);
	if (mapping != MAP_FAILED)
		byte = *mapping;
	refused(futimens(0, NULL), "futimens to now");
	refused(futimens(again, past), "futimens to the past");
	refused(utimensat(AT_FDCWD, "/proc/self/fd/0", NULL, 0), "utimensat to now");
	refused(fchmod(0, 0400), "fchmod");
	fstat(0, &after);
	if (memcmp(&before.st_atim, &after.st_atim, sizeof before.st_atim) != 0)
		broke("the time of access went from %ld.%09ld to %ld.%09ld", before.st_atim.tv_sec, before.st_atim.tv_nsec, after.st_atim.tv_sec, after.st_atim.tv_nsec);
	if (memcmp(&before.st_ctim, &after.st_ctim, sizeof before.st_ctim) != 0)
		broke("the time of change is another one");
	held("the times are as before");
}
