/* Proves that output is limited: 200 MiB of it. */
#include <stdio.h>

int main(void)
{
	for (int i = 0; i < 10 * 1000 * 1000; i++)
		puts("all work and no play");
	return 0;
}
