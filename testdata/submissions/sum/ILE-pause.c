/* Proves that a program that sleeps for ever is idle, not slow. */
#include <unistd.h>

int main(void)
{
	for (;;)
		pause();
}
