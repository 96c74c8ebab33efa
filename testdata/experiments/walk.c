/*
 * Memory-bound, of calibrated length: reads and writes N blocks of 64 KiB, going round an array of 64 MiB, more than most
 * caches hold. Sees everybody who uses the same memory. N is the argument. Prints a sum.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 8192, BLOCKS = 1024 }; /* words, blocks */

int main(int argc, char **argv)
{
	long blocks = argc == 2 ? atol(argv[1]) : 0;
	uint64_t *words = malloc(sizeof *words * BLOCK * BLOCKS), sum = 0;
	if (words == NULL)
		return 2;
	memset(words, 1, sizeof *words * BLOCK * BLOCKS);
	for (long i = 0; i < blocks; i++) {
		uint64_t *block = words + i % BLOCKS * BLOCK;
		for (int j = 0; j < BLOCK; j++)
			sum += block[j] += (uint64_t)i;
	}
	printf("%llu\n", (unsigned long long)sum);
	free(words);
	return 0;
}
