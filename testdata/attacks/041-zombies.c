/* Use up process numbers with the dead: children that nobody waits for, then a tree
 * of orphans, who come to process 1. What must stop it: zombies hold their place in
 * pids.max, and process 1 reaps the orphans, so that an honest program never lacks
 * places. */
#include "attack.h"

int main(void)
{
	int zombies = 0;
	for (int i = 0; i < 200; i++) {
		pid_t child = fork();
		if (child < 0)
			continue;
		if (child == 0) {
			if (fork() == 0)
				_exit(0); /* an orphan, sooner or later */
			_exit(0);
		}
		zombies++;
		usleep(1000);
	}
	if (zombies > 15)
		broke("%d zombies at a limit of 16 processes", zombies);
	if (zombies < 10)
		broke("%d zombies only: orphans hold places", zombies);
	held("%d zombies", zombies);
}
