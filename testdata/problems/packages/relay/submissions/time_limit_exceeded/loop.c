#include <stdio.h>

int main(void)
{
	char task[8];
	if (scanf("%7s", task) == 1 && task[0] == 'w')
		return puts("ab") < 0;
	for (volatile int x = 0;; x++)
		;
}
