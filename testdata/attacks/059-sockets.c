/* Opens a socket of every family and type, and connects to a port of the host.
 * Each family is much kernel code, most of it found by fuzzers rather than
 * users; some (vsock, AF_ALG) are in no network namespace. What must stop it:
 * seccomp; for the host's ports an empty network namespace. */
#include "attack.h"
#include <arpa/inet.h>
#include <sys/socket.h>

static void host_port(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
		broke("connected to port %d of the host", port);
	if (fd >= 0 && sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&a, sizeof a) > 0)
		broke("sent to port %d of the host", port);
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)
		refused(connect(pair[0], (struct sockaddr *)&(struct sockaddr){.sa_family = AF_UNSPEC}, sizeof(struct sockaddr)), "connect a pair anew");
}

int main(int argc, char **argv)
{
	int made = 0, last = -1;
	host_port(argc > 1 ? atoi(argv[1]) : 22);
	for (int family = 0; family < 64; family++)
		for (int type = 1; type <= 10; type++)
			for (int protocol = 0; protocol <= 1; protocol++) {
				int fd = socket(family, type, protocol), pair[2];
				if (fd >= 0) {
					made++;
					last = family;
					close(fd);
				}
				if (family != AF_UNIX && socketpair(family, type, protocol, pair) == 0)
					broke("a pair of family %d", family);
			}
	if (made > 0)
		broke("%d kinds of sockets could be made, the last of family %d", made, last);
	held("no socket of 64 families");
}
