/* Proves that a child counts while its parent sleeps. */
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	if (fork() == 0)
		for (;;)
			;
	wait(NULL);
	return 0;
}
