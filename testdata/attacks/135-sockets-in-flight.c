/* Leaves sockets in flight: pairs that are sent over themselves in cycles, which
 * only the garbage collector of unix sockets finds (CVE-2021-0920 and a dozen
 * others), with files of the box in them, so that it could not go; and sends
 * out-of-band bytes, from which CVE-2025-38236 made root out of a renderer of
 * Chrome. What must stop it: seccomp refuses MSG_OOB; the files in flight are
 * bounded by RLIMIT_NOFILE and billed, and go with the run: the driver sees no
 * descriptor and no mount left. */
#include "attack.h"
#include <fcntl.h>
#include <sys/socket.h>

static int cycles;

static int pass(int over, const int *fds, int n)
{
	char byte = 0, space[CMSG_SPACE(16 * sizeof(int))] = {0};
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(header), fds, n * sizeof(int));
	return sendmsg(over, &message, MSG_DONTWAIT) == 1;
}

int main(void)
{
	int pair[2], file = open("held", O_CREAT | O_RDWR, 0600), folder = open("/box", O_RDONLY | O_DIRECTORY);
	while (cycles < 2000 && socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0) {
		const int four[] = {pair[0], pair[1], file, folder};
		int sent = pass(pair[0], four, 4);
		close(pair[0]);
		close(pair[1]); /* now only the messages hold them */
		if (!sent)
			break;
		cycles++;
	}
	printf("%d cycles: %s\n", cycles, strerror(errno));
	if (cycles == 2000)
		broke("8000 descriptors in flight");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		held("%d cycles, and no further pair", cycles);
	refused(send(pair[0], "x", 1, MSG_OOB), "send out of band");
	refused(sendto(pair[0], "x", 1, MSG_OOB | MSG_DONTWAIT, NULL, 0), "sendto out of band");
	struct iovec data = {"x", 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	refused(sendmsg(pair[0], &message, MSG_OOB), "sendmsg out of band");
	held("%d cycles left for the garbage collector", cycles);
}
