/* Sees in its own /proc/self/pagemap whether somebody else maps the same page of
 * a file of /usr at this moment (bit 56: mapped by one process only), and in
 * smaps (Shared_Clean). The run next to it maps and unmaps a page in a rhythm.
 * The kernel shows a process these files of itself, always. What must stop it:
 * every slot has copies of its own. */
#include "attack.h"
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#define PERIOD_MS 20
#define ROUNDS 16
#define PATTERN 0xa5c3u

static int file, page_number;

static long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static volatile char *touch(void)
{
	volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_POPULATE, file, page_number * 4096);
	if (page == MAP_FAILED)
		held("mmap: %s", strerror(errno));
	(void)*page;
	return page;
}

static int alone(volatile char *page)
{
	uint64_t entry = 0;
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	if (pagemap < 0 || pread(pagemap, &entry, 8, (uintptr_t)page / 4096 * 8) != 8)
		held("no pagemap: %s", strerror(errno));
	close(pagemap);
	return entry >> 56 & 1;
}

int main(int argc, char **argv)
{
	/* Nobody else may have the page mapped: that of a library is. */
	static const char *const files[] = {"/usr/bin/perl", "/usr/lib/locale/C.utf8/LC_CTYPE", "/usr/lib/locale/C.UTF-8/LC_CTYPE", "/etc/passwd"};
	file = -1;
	for (int i = 0; i < 4 && file < 0; i++) {
		file = open(files[i], O_RDONLY);
		page_number = i < 3 ? 17 : 0;
	}
	if (file < 0)
		held("no file: %s", strerror(errno));
	int votes[ROUNDS] = {0}, sends = argc > 1 && strcmp(argv[1], "send") == 0;
	volatile char *page = sends ? NULL : touch();
	for (long end = now_ms() + 3 * ROUNDS * PERIOD_MS; now_ms() < end; nanosleep(&(struct timespec){0, 2000000}, NULL)) {
		int bit = now_ms() / PERIOD_MS % ROUNDS;
		if (!sends) {
			votes[bit] += alone(page) ? -1 : 1;
		} else if ((PATTERN >> bit & 1) != (page != NULL)) {
			if (page)
				munmap((void *)page, 4096);
			page = page ? NULL : touch();
		}
	}
	unsigned got = 0;
	for (int i = 0; i < ROUNDS; i++)
		got |= (unsigned)(votes[i] > 0) << i;
	if (!sends && got == PATTERN)
		broke("received %04x from the run next to it", got);
	held(sends ? "sent %04x" : "received %04x", sends ? PATTERN : got);
}
