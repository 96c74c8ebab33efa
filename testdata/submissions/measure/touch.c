/* A known peak: touches every page of N MiB (first argument, else 16), R times over (second argument, else 1). */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t size = (size_t)(argc > 1 ? atol(argv[1]) : 16) << 20;
	long rounds = argc > 2 ? atol(argv[2]) : 1;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *block = malloc(size + 1);
	if (block == NULL)
		return 1;
	for (long r = 0; r < rounds; r++)
		for (size_t i = 0; i < size; i += page)
			block[i]++;
	printf("%zu\n", size);
	free((char *)block);
	return 0;
}
