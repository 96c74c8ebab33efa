/*
 * CPU-bound, of calibrated length: a chain of N thousand xorshift steps, each of which needs the one before. Registers
 * only: sees the frequency of the core and what shares it, and nothing else. N is the argument. Prints the end of the
 * chain.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long thousands = argc == 2 ? atol(argv[1]) : 0;
	uint64_t x = 88172645463325252u;
	for (long i = 0; i < thousands * 1000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	printf("%llu\n", (unsigned long long)x);
	return 0;
}
