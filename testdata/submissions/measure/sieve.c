/*
 * Memory-bound: a sieve of Eratosthenes over N ints (4 N bytes), clearing the multiples of every prime up to the square
 * root, as in the experiment of 2020 (N = 500000000). N is the first argument, else the first number of stdin, else
 * 10000000. Prints how many primes are below N.
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long n = 10000000;
	if (argc > 1)
		n = atol(argv[1]);
	else if (scanf("%ld", &n) != 1)
		n = 10000000;
	if (n < 2)
		return 1;
	int *number = malloc((size_t)n * sizeof *number);
	if (number == NULL)
		return 2;
	for (long i = 0; i < n; i++)
		number[i] = (int)(i > 1);
	for (long p = 2; p * p < n; p++)
		if (number[p])
			for (long multiple = p * p; multiple < n; multiple += p)
				number[multiple] = 0;
	long primes = 0;
	for (long i = 0; i < n; i++)
		primes += number[i];
	printf("%ld\n", primes);
	free(number);
	return 0;
}
