/* Ends at once with status 0, while a child goes on writing: a judge that
 * compares when the first process ends and reads again later sees two outputs.
 * What must stop it: judged kills what is left, and reads when nobody writes
 * any more. The driver sees that the child is gone. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	for (int i = 0; i < 3; i++) {
		if (fork() != 0)
			continue;
		setsid();
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		for (int n = 0; n < 100000; n++) {
			if (write(1, ".", 1) != 1)
				break;
			usleep(10);
		}
		_exit(0);
	}
	held("the children go on");
}
