/* Hold the slot without using CPU time, so that a CPU limit never comes. What
 * must stop it: the wall limit, on CLOCK_MONOTONIC, in judged. */
#include "attack.h"

int main(void)
{
	for (unsigned left = 20; left > 0;)
		left = sleep(left);
	broke("slept for 20 s");
}
