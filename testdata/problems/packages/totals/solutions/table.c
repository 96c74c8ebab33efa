#include <stdlib.h>
#include <string.h>

enum { step = 1 << 20 };

int main(void)
{
	for (;;)
		memset(malloc(step), 1, step);
}
