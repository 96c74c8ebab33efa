/* Arguments HEAP OUT ERR FILE: uses HEAP MiB of memory, writes FILE MiB to the file "out", frees the memory, and writes
 * OUT MiB to stdout and ERR MiB to stderr. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int put(int fd, size_t size)
{
	static char block[1 << 20];
	memset(block, 'x', sizeof block);
	for (size_t i = 0; i < size; i += sizeof block)
		if (write(fd, block, sizeof block) != sizeof block)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	size_t heap = (size_t)atoi(argv[1]) << 20, out = (size_t)atoi(argv[2]) << 20, err = (size_t)atoi(argv[3]) << 20;
	size_t file = (size_t)atoi(argv[4]) << 20;
	char *memory = mmap(NULL, heap + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc != 5 || memory == MAP_FAILED)
		return 1;
	memset(memory, 1, heap);
	if (file > 0 && put(open("out", O_CREAT | O_WRONLY, 0666), file) != 0)
		return 2;
	if (out > 0 && put(1, out / 2) != 0) /* before the memory is freed */
		return 2;
	munmap(memory, heap + 1);
	return put(1, out - out / 2) != 0 || put(2, err) != 0 ? 2 : 0;
}
