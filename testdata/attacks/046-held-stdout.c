/* Exit and leave a daemon that holds stdout and stderr open, so that who reads to
 * the end of the output waits for ever. What must stop it: the output is a file,
 * read when nothing of the run lives any more. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	if (fork() == 0) {
		setsid();
		for (int s = 1; s <= 64; s++)
			signal(s, SIG_IGN);
		for (unsigned left = 20; left > 0;)
			left = sleep(left);
		_exit(0);
	}
	held("a daemon holds the output");
}
