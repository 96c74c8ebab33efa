/* Use the pages of its own program file as memory: judged put the file there, so its
 * pages are not charged to the run. A copy of the program writes over the original, which
 * nobody executes by then. What must stop it: the file is root's, and the mode
 * lets nobody else write. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/stat.h>

enum { ballast_size = 8 << 20, heap_size = 12 << 20 }; /* more than the limit together */
const char ballast[ballast_size] = {1};

static void copy(const char *from, const char *to)
{
	static char block[1 << 16];
	ssize_t n;
	int in = open(from, O_RDONLY), out = open(to, O_CREAT | O_WRONLY, 0755);
	if (in < 0 || out < 0)
		broke("cannot try: %s", strerror(errno));
	/* Without the ballast, whose pages would be charged. */
	for (off_t at = 0; (n = read(in, block, sizeof block)) > 0; at += n) {
		int empty = 1;
		for (ssize_t i = 0; i < n && empty; i++)
			empty = block[i] == 0;
		if (!empty && pwrite(out, block, (size_t)n, at) != n)
			broke("cannot try: %s", strerror(errno));
		if (ftruncate(out, at + n) != 0)
			broke("cannot try: %s", strerror(errno));
	}
	close(in);
	close(out);
}

int main(int argc, char **argv)
{
	struct stat info;
	if (argc == 1) {
		copy(argv[0], "copy");
		execl("./copy", "./copy", argv[0], NULL);
		broke("cannot try: execl: %s", strerror(errno));
	}
	const char *name = argv[1];
	if (stat(name, &info) != 0 || info.st_size < ballast_size || ballast[0] != 1)
		broke("cannot try: the file has %lld bytes", (long long)info.st_size);
	int file = open(name, O_RDWR);
	if (file < 0 && chmod(name, 0777) != 0 && truncate(name, 2 * ballast_size) != 0)
		held("it can only be read: %s", strerror(errno));
	char *stored = mmap(NULL, ballast_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	char *heap = malloc(heap_size);
	memset(heap, 1, heap_size);
	memset(stored, 2, ballast_size);
	broke("%d bytes in memory", ballast_size + heap_size);
}
