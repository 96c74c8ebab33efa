/* Proves that threads that wait for each other are idle. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_lock(void *unused)
{
	pthread_mutex_lock(&lock);
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_mutex_lock(&lock);
	if (pthread_create(&thread, NULL, wait_for_lock, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
