/*
 * Registers only: a chain of N million xorshift steps, each of which needs the one before. Sees the frequency of the core
 * and its sibling, and nothing else. N is the first argument, else 100. Prints the end of the chain.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long millions = argc > 1 ? atol(argv[1]) : 100;
	uint64_t x = 88172645463325252u;
	for (long i = 0; i < millions * 1000000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	printf("%llu\n", (unsigned long long)x);
	return 0;
}
