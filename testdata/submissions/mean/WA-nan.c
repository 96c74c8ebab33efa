/* Proves that what is not a number by the grammar is wrong. */
#include <stdio.h>

int main(void)
{
	puts("nan");
	return 0;
}
