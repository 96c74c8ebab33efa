/* Passes 16 bits to the next run by which pages of a file that both see were
 * used lately: /proc/self/numa_maps tells of each mapped page whether it is
 * active. The sender maps and touches a page often for a 1, and advises that it
 * is cold for a 0. What must stop it: files that are on no such list. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/stat.h>

#define MESSAGE 0x2da5
#define BITS 16

static const char *const files[] = {"/usr/lib/locale/C.utf8/LC_CTYPE", "/usr/lib/locale/C.UTF-8/LC_CTYPE"};

static int open_shared(void)
{
	struct stat st;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		int fd = open(files[i], O_RDONLY);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= BITS * 4096)
			return fd;
	}
	held("no file that both see is large enough");
}

static volatile char *page(int fd, int number)
{
	volatile char *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, number * 4096L);
	if (at == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	(void)at[0];
	return at;
}

static void send(int fd)
{
	for (int bit = 0; bit < BITS; bit++)
		for (int times = 0; times < 4; times++) {
			volatile char *at = page(fd, bit);
			if (!(MESSAGE >> bit & 1))
				madvise((void *)at, 4096, MADV_COLD);
			munmap((void *)at, 4096);
			if (!(MESSAGE >> bit & 1))
				break;
		}
}

/* active tells what numa_maps says of a page that is mapped alone. */
static int active(volatile char *at)
{
	char line[4096], address[32];
	int found = 0;
	snprintf(address, sizeof address, "%lx ", (unsigned long)at);
	FILE *f = fopen("/proc/self/numa_maps", "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, address, strlen(address)) == 0)
			/* It is left out where all pages are. */
			found = strstr(line, "active=0") == NULL;
	if (f)
		fclose(f);
	return found;
}

int main(int argc, char **argv)
{
	int fd = open_shared(), got = 0;
	if (argc > 1 && strcmp(argv[1], "send") == 0) {
		send(fd);
		held("sent");
	}
	for (int bit = 0; bit < BITS; bit++) {
		volatile char *at = page(fd, bit);
		got |= active(at) << bit;
		munmap((void *)at, 4096);
	}
	if (got == MESSAGE)
		broke("the pages say %04x", got);
	held("the pages say %04x", got);
}
