// Each instance is within the limit of CPU time, and their sum is not.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	int n, second = argc > 1 && atoi(argv[1]) == 1;
	long sum = 0, x;
	if (scanf("%d", &n) != 1)
		return 1;
	while (n-- && scanf("%ld", &x) == 1)
		sum += x;
	if (second && scanf("%ld", &x) == 1)
		sum += x;
	for (volatile unsigned steps = 0; clock() < 7 * CLOCKS_PER_SEC / 10; steps++)
		;
	printf("%ld\n", sum);
	return 0;
}
