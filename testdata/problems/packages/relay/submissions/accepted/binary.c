#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char task[8], word[64];
	if (scanf("%7s %63s", task, word) != 2)
		return 1;
	if (task[0] == 'w') {
		long n = atol(word);
		for (int bit = 30; bit >= 0; bit--)
			putchar(n >> bit & 1 ? 'b' : 'a');
	} else {
		long n = 0;
		for (char *p = word; *p; p++)
			n = 2 * n + (*p == 'b');
		printf("%ld", n);
	}
	putchar('\n');
}
