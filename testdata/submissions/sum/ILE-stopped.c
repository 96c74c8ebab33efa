/* Proves that a stopped program is ended too. */
#include <signal.h>

int main(void)
{
	raise(SIGSTOP);
	return 0;
}
