/* Proves that bytes decide and not the signal: SIGXFSZ is ignored, the program ends well. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	static char block[4096];
	memset(block, 'x', sizeof block);
	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < 50 * 1000 && write(1, block, sizeof block) > 0; i++)
		;
	return 0;
}
