#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char task[8];
	if (scanf("%7s", task) != 1 || task[0] == 'r')
		abort();
	puts("ab");
}
