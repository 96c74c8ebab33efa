/* Proves that a program that kills itself did so, and no limit. */
#include <signal.h>

int main(void)
{
	raise(SIGKILL);
	return 0;
}
