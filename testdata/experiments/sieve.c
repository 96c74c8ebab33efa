/*
 * Consistency (Yandex.Contest, 2020): a sieve of Eratosthenes over N ints (4 N bytes), clearing the multiples of every
 * prime up to the square root. N is the argument; theirs was 500000000. Prints how many primes are below N.
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long n = argc == 2 ? atol(argv[1]) : 0;
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
