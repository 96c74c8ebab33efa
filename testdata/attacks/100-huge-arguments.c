/* Executes itself with 100 MiB of arguments, then with as many as the kernel
 * takes, in several processes at once: the strings are copied before the old
 * memory goes. What must stop it: a quarter of RLIMIT_STACK and 6 MiB are the
 * most, and they are billed to the run. */
#include "attack.h"

#define PIECE (100 << 10) /* one string may have 128 KiB */
#define PIECES 1024

static char *arguments[PIECES + 3];

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "child") == 0) {
		size_t sum = 0;
		for (int i = 2; i < argc; i++)
			sum += strlen(argv[i]);
		if (sum > 6 << 20)
			broke("%zu bytes of arguments", sum);
		usleep(50000);
		_exit(0);
	}
	static char piece[PIECE];
	memset(piece, 'x', sizeof piece - 1);
	arguments[0] = argv[0];
	arguments[1] = "child";
	for (int i = 0; i < PIECES; i++)
		arguments[i + 2] = piece;
	execv("/proc/self/exe", arguments);
	if (errno != E2BIG)
		broke("100 MiB of arguments: %s", strerror(errno));
	int executed = 0;
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			for (int n = PIECES; n > 0; n /= 2) {
				arguments[n + 2] = NULL;
				execv("/proc/self/exe", arguments);
			}
			_exit(1);
		}
	for (int status; wait(&status) > 0;) {
		if (WIFEXITED(status) && WEXITSTATUS(status) == BROKE_STATUS)
			_exit(BROKE_STATUS);
		executed += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	held("100 MiB were refused, %d processes started with less", executed);
}
