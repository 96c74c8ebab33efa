/*
 * Puts memory of every kind somewhere and waits to be looked at: touches N MiB (first argument, else 16), reads all of its
 * stdin, writes M MiB (second, else 1) to stdout and as many to a file of its working directory that stays open, then one
 * byte to stderr, and sleeps for ever.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int put(int fd, const char *block, size_t n)
{
	while (n > 0) {
		ssize_t w = write(fd, block, n);
		if (w <= 0)
			return 0;
		block += w;
		n -= (size_t)w;
	}
	return 1;
}

int main(int argc, char **argv)
{
	size_t touched = (size_t)(argc > 1 ? atol(argv[1]) : 16) << 20, written = (size_t)(argc > 2 ? atol(argv[2]) : 1) << 20;
	char *block = malloc(touched + written);
	if (block == NULL)
		return 1;
	memset(block, 'x', touched + written);
	while (read(0, block, touched) > 0)
		;
	int fd = open("file", O_CREAT | O_RDWR, 0600);
	if (fd < 0 || !put(1, block, written) || !put(fd, block, written) || !put(2, "!", 1))
		return 2;
	for (;;)
		pause();
}
