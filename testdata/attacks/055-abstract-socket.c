/* Listens on an abstract unix socket, which belongs to the network namespace
 * that all runs share, and connects to that of the run next to it and to one of
 * the host. What must stop it are seccomp, and for the host the namespace. */
#include "attack.h"
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

static socklen_t address(struct sockaddr_un *a, const char *name)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "%s", name);
	return offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
}

static int reach(const char *name)
{
	struct sockaddr_un a;
	socklen_t length = address(&a, name);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int reached = fd >= 0 && connect(fd, (struct sockaddr *)&a, length) == 0;
	if (fd >= 0)
		close(fd);
	return reached;
}

/* borrowed uses a socket that already exists: socketpair is allowed. */
static void borrowed(const char *name)
{
	struct sockaddr_un a;
	socklen_t length = address(&a, name);
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
		return;
	refused(bind(pair[0], (struct sockaddr *)&a, length), "bind");
	refused(connect(pair[0], (struct sockaddr *)&a, length), "connect");
	refused(sendto(pair[0], "x", 1, 0, (struct sockaddr *)&a, length), "sendto with an address");
}

int main(int argc, char **argv)
{
	struct sockaddr_un a;
	socklen_t length = address(&a, "judged-attack-055");
	if (argc < 3)
		return 1;
	if (reach(argv[2]))
		broke("connected to the host's socket");
	borrowed(argv[2]);
	int fd = strcmp(argv[1], "listen") == 0 ? socket(AF_UNIX, SOCK_STREAM, 0) : -1;
	if (fd >= 0 && (bind(fd, (struct sockaddr *)&a, length) < 0 || listen(fd, 1) < 0))
		printf("listen: %s\n", strerror(errno));
	for (int i = 0; i < 40; i++, nanosleep(&(struct timespec){0, 10000000}, NULL))
		if (strcmp(argv[1], "connect") == 0 && reach("judged-attack-055"))
			broke("connected to the run beside this one");
	held("nobody reached");
}
