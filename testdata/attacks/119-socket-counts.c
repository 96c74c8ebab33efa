/* Sees in /proc/self/net, which shows the network namespace, how many sockets
 * there are, and lists them: the run next to it makes pairs of them, which is
 * allowed, in a rhythm. What must stop it: two runs at once are never in one
 * network namespace. */
#include "attack.h"
#include <dirent.h>
#include <sys/socket.h>
#include <time.h>

static int lines(const char *path)
{
	char line[512];
	int n = 0;
	FILE *f = fopen(path, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof line, f))
		n++;
	fclose(f);
	return n;
}

static int number_in(const char *path, const char *format)
{
	char line[512];
	int n = -1;
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, format, &n);
	if (f)
		fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	int pairs[60][2], sends = argc > 1 && strcmp(argv[1], "send") == 0;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; sends && i < 60; i++)
			if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) < 0)
				broke("cannot try: %s", strerror(errno));
		nanosleep(&(struct timespec){0, 20000000}, NULL);
		for (int i = 0; sends && i < 60; i++) {
			close(pairs[i][0]);
			close(pairs[i][1]);
		}
		if (sends)
			continue;
		int listed = lines("/proc/self/net/unix"), used = number_in("/proc/self/net/sockstat", "sockets: used %d");
		if (listed > 1) /* the heading */
			broke("%d sockets are listed in /proc/self/net/unix", listed - 1);
		if (used > 0)
			broke("%d sockets are used", used);
		if (lines("/proc/self/net/dev") > 3) /* two of heading, lo */
			broke("there are interfaces");
	}
	held(sends ? "made 60 pairs, 20 times" : "no sockets of others");
}
