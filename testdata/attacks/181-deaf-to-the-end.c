/* Closes both pipes of the conversation and computes for ever, so that its end
 * is a time limit instead of what the interactor says. What must stop it: the
 * interactor ends first, and that decides. */
#include "attack.h"

int main(void)
{
	close(0);
	close(1);
	for (volatile unsigned n = 0;; n++)
		;
}
