/* Makes its named output file a terabyte that takes no memory, the one that it
 * was given or another of that name: who reads it all reads for hours. What must
 * stop it: the limit of output is also the size that a file may have. */
#include "attack.h"
#include <signal.h>

int main(int argc, char **argv)
{
	if (argc < 2)
		return 1;
	signal(SIGXFSZ, SIG_IGN);
	if (!strcmp(argv[1], "own"))
		unlink("out");
	int out = open("out", O_RDWR | O_CREAT, 0666);
	if (out < 0)
		return 1;
	if (ftruncate(out, 1LL << 40) == 0 || fallocate(out, 0, 0, 1LL << 40) == 0 || pwrite(out, "x", 1, 1LL << 40) == 1)
		broke("the output is a terabyte");
	/* As much as it may have, of which nothing is in memory. */
	for (off_t size = 1LL << 40; size > 0 && ftruncate(out, size) < 0; size /= 2)
		;
	printf("%lld bytes\n", (long long)lseek(out, 0, SEEK_END));
	fflush(stdout);
	return 0;
}
