/* Marks pages of its input and of a file of the host as recently used, or as not: by
 * reading, and by clear_refs, which takes the mark from the page itself. The next run
 * maps the same pages without using most of them, and asks smaps which are
 * "Referenced". What must stop it: a page that a fault maps counts as referenced,
 * marked or not. It does not on arm64 processors that set the access flag
 * themselves: mm/memory.c, arch_wants_old_prefaulted_pte. */
#include "attack.h"
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { window = 1 << 16, most = 64 }; /* what a fault maps at once */

static char *map_window(int fd, off_t at, char *where)
{
	char *p = mmap(where, window, PROT_READ, MAP_SHARED | (where ? MAP_FIXED : 0), fd, at);
	if (p == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	(void)*(volatile char *)p;
	return p;
}

static void mark(int fd, int windows)
{
	static char block[window];
	for (int i = 0; i < windows; i += 2) {
		char *p = map_window(fd, (off_t)i * window, NULL);
		madvise(p, window, MADV_POPULATE_READ);
	}
	int clear = open("/proc/self/clear_refs", O_WRONLY);
	if (clear >= 0 && write(clear, "1", 1) < 0)
		printf("clear_refs: %s\n", strerror(errno));
	for (int round = 0; round < 2; round++)
		for (int i = 1; i < windows; i += 2)
			if (pread(fd, block, window, (off_t)i * window) != window)
				broke("cannot try: read: %s", strerror(errno));
}

/* referenced adds up what smaps says of the windows at region, which have gaps between them. */
static void referenced(const char *region, int windows, long kb[2])
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[4096];
	uintptr_t from = 0, to;
	long n;
	kb[0] = kb[1] = 0;
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2 || sscanf(line, "Referenced: %ld", &n) != 1)
			continue;
		uintptr_t i = (from - (uintptr_t)region) / (2 * window);
		if (from >= (uintptr_t)region && i < (uintptr_t)windows && (from - (uintptr_t)region) % (2 * window) == 0)
			kb[i % 2] += n;
	}
	if (!f)
		held("there is no smaps: %s", strerror(errno));
	fclose(f);
}

static void look(int fd, int windows, const char *name)
{
	long kb[2];
	char *region = mmap(NULL, (size_t)(2 * windows + 1) * window, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	region = (char *)(((uintptr_t)region + window - 1) / window * window);
	for (int i = 0; i < windows; i++)
		map_window(fd, (off_t)i * window, region + (size_t)i * 2 * window);
	referenced(region, windows, kb);
	printf("%s: %ld kB and %ld kB of %d windows are referenced\n", name, kb[0], kb[1], windows);
	if (kb[0] + kb[1] == 0)
		broke("cannot try: nothing is referenced");
	if (kb[0] != kb[1])
		broke("%s: %ld kB are referenced where the last run read nothing, %ld where it did", name, kb[0], kb[1]);
}

int main(int argc, char **argv)
{
	const char *names[] = {"/proc/self/fd/0", host_file()};
	for (int k = 0; k < 2; k++) {
		struct stat s;
		int fd = open(names[k], O_RDONLY);
		if (fd < 0 || fstat(fd, &s) < 0) {
			printf("%s: %s\n", names[k], strerror(errno));
			continue;
		}
		int windows = (int)(s.st_size / window) & ~1;
		if (windows > most)
			windows = most;
		if (k == 0 && windows < 2)
			broke("cannot try: an input of %lld bytes", (long long)s.st_size);
		if (argc > 1 && strcmp(argv[1], "mark") == 0)
			mark(fd, windows);
		else if (windows > 0)
			look(fd, windows, names[k]);
	}
	held("no page shows that it was used");
}
