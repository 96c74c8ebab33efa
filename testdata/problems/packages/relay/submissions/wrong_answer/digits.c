#include <stdio.h>

int main(void)
{
	char word[64];
	return scanf("%*s %63s", word) == 1 && puts(word) >= 0 ? 0 : 1;
}
