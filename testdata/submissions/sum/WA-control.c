/* Proves that a report stays valid text whatever a program prints: escapes, NUL, bytes that are not UTF-8. */
#include <stdio.h>

int main(void)
{
	fwrite("\033[2J\0\xff\xfe\r\b{}\"\n", 1, 12, stdout);
	return 0;
}
