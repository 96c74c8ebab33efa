/* Write without end to stderr, where compilers' messages go and judges often have
 * no limit: the memory is theirs. Then answer on stdout as if nothing had been. What
 * must stop it: stderr is a file of its own, with the limit of the output. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	static char block[4096];
	size_t written = 0;
	ssize_t n;
	signal(SIGXFSZ, SIG_IGN);
	memset(block, 'e', sizeof block);
	for (int failed = 0; failed < 100 && written < 16 << 20; failed += n < 0)
		if ((n = write(2, block, sizeof block)) > 0)
			written += (size_t)n;
	if (written > 65537)
		broke("wrote %zu bytes", written);
	held("wrote %zu bytes, to be counted", written);
}
