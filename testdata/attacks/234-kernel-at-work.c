/* Nearly all of its time is the kernel's, spent for one page of text. What must stop it:
 * that is the run's CPU time. */
#include "attack.h"
#include <pthread.h>
#include <sys/mman.h>

static void *work(void *unused)
{
	static char text[1 << 16];
	(void)unused;
	for (;;) {
		int fd = open("/proc/self/smaps", O_RDONLY);
		if (fd < 0)
			fd = open("/proc/self/maps", O_RDONLY);
		while (read(fd, text, sizeof text) > 0)
			;
		close(fd);
	}
	return NULL;
}

int main(void)
{
	pthread_t id;
	for (int i = 0; i < 1000; i++)
		if (mmap(NULL, 8192, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			return 1;
	for (int i = 0; i < 7; i++)
		pthread_create(&id, NULL, work, NULL);
	work(NULL);
}
