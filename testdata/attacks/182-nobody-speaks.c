/* Waits for an interactor that waits for it, so that the job never ends. What
 * must stop it: the wall limit, which says that the program slept. */
#include "attack.h"

int main(void)
{
	char byte;
	return read(0, &byte, 1) == 1 ? 0 : 1;
}
