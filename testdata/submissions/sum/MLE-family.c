/* Proves that the memory of all processes is one sum: each of four stays far below the limit. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long long sum(void)
{
	long long n, x, total = 0;
	if (scanf("%lld", &n) != 1)
		return 0;
	while (n-- > 0 && scanf("%lld", &x) == 1)
		total += x;
	return total;
}

int main(void)
{
	for (int i = 0; i < 4; i++) {
		if (fork() == 0) {
			volatile char *block = malloc(24 << 20);
			for (int page = 0; block != NULL && page < 24 << 20; page += 4096)
				block[page] = 1;
			alarm(30); /* its end where nothing else ends it */
			for (;;)
				pause();
		}
	}
	wait(NULL);
	printf("%lld\n", sum());
	return 0;
}
