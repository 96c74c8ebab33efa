// Instance 1 computes for ever.
#include <stdio.h>
#include <stdlib.h>

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
	for (volatile int spin = second; spin;)
		;
	printf("%ld\n", sum);
	return 0;
}
