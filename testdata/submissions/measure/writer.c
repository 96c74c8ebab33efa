/* Output of known size: N bytes (first argument, else 1048576) in writes of W bytes (second, else 4096), unbuffered. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long left = argc > 1 ? atol(argv[1]) : 1048576, width = argc > 2 ? atol(argv[2]) : 4096;
	if (width < 1)
		return 1;
	char *block = malloc((size_t)width);
	if (block == NULL)
		return 2;
	memset(block, 'x', (size_t)width);
	while (left > 0) {
		ssize_t n = write(1, block, (size_t)(left < width ? left : width));
		if (n <= 0)
			return 3;
		left -= n;
	}
	free(block);
	return 0;
}
