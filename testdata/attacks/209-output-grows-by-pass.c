/* Writes twice what it reads, in each of many passes: what the checker passes on
 * would be 2^40 bytes in the end. What must stop it: the limit of output holds in
 * each pass, and the first pass beyond it is the last. */
#include "attack.h"

int main(void)
{
	static char block[1 << 16];
	ssize_t n;
	while ((n = read(0, block, sizeof block)) > 0)
		for (int i = 0; i < 2; i++)
			if (write(1, block, (size_t)n) != n)
				return 1;
	return 0;
}
