/* Proves the same for more runnable threads than CPUs. */
#include <pthread.h>

static void *spin(void *unused)
{
	for (;;)
		;
	return unused;
}

int main(void)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, spin, NULL) != 0)
			return 1;
	spin(NULL);
	return 0;
}
