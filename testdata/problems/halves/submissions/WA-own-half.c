// Instance 1 says the sum of its own half.
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
		x = 0;
	printf("%ld\n", sum);
	return 0;
}
