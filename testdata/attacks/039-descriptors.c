/* Use up open files, of which the host has a number (fs.file-max): as many as there
 * may be, then more by putting them into messages between sockets and closing them,
 * where no process has them. What must stop it: RLIMIT_NOFILE, which bounds those
 * in flight too. */
#include "attack.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

static int send_away(int through, int fd)
{
	char space[CMSG_SPACE(sizeof fd)] = {0};
	struct iovec byte = {"x", 1};
	struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(header), &fd, sizeof fd);
	return sendmsg(through, &message, MSG_DONTWAIT) == 1;
}

int main(void)
{
	struct rlimit most = {1 << 20, 1 << 20};
	int pair[2], through = -1, away = 0, open_files = 0, fd;
	refused(setrlimit(RLIMIT_NOFILE, &most), "setrlimit NOFILE");
	while (away < 5000 && (fd = open("/dev/null", O_RDONLY)) >= 0) {
		if (through < 0 || !send_away(through, fd)) {
			if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
				break;
			through = pair[0];
			if (!send_away(through, fd))
				break;
		}
		close(fd);
		away++;
	}
	while (open_files < 5000 && open("/dev/null", O_RDONLY) >= 0)
		open_files++;
	if (away > 600 || open_files > 300)
		broke("%d files open and %d in flight", open_files, away);
	held("%d files open and %d in flight", open_files, away);
}
