/* Reaches process 1 and processes of the host by descriptors of processes:
 * takes files from them (pidfd_getfd), compares kernel addresses with them
 * (kcmp), frees their memory, enters what they are in; and sends forged
 * credentials over a socket. What must stop it: the pid namespace, another
 * user, and seccomp, which ends the run. */
#include "attack.h"
#include <linux/kcmp.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static int process1;

static void take_file(void)
{
	for (int fd = 0; fd < 16; fd++)
		if (syscall(SYS_pidfd_getfd, process1, fd, 0) >= 0)
			broke("has descriptor %d of process 1", fd);
}

static void compare(void)
{
	for (int kind = KCMP_FILE; kind < KCMP_TYPES; kind++)
		if (syscall(SYS_kcmp, getpid(), 1, kind, 0, 0) >= 0)
			broke("compares with process 1");
}

static void forge(pid_t pid, uid_t uid)
{
	int pair[2];
	char byte = 0, space[CMSG_SPACE(sizeof(struct ucred))] = {0};
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	struct ucred forged = {pid, uid, getgid()};
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
		broke("cannot try: %s", strerror(errno));
	header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_CREDENTIALS, header->cmsg_len = CMSG_LEN(sizeof forged);
	memcpy(CMSG_DATA(header), &forged, sizeof forged);
	refused(sendmsg(pair[0], &message, 0), "forged credentials");
}

int main(int argc, char **argv)
{
	process1 = syscall(SYS_pidfd_open, 1, 0);
	int host = syscall(SYS_pidfd_open, argc > 1 ? atoi(argv[1]) : 1, 0);
	if (argc > 1 && host >= 0 && atoi(argv[1]) > 20)
		broke("has a descriptor of process %s of the host", argv[1]);
	forge(1, getuid());
	forge(getpid(), 0);
	if (process1 >= 0) {
		refused(syscall(SYS_pidfd_send_signal, process1, 0, NULL, 0), "a signal by descriptor");
		refused(syscall(SYS_pidfd_send_signal, process1, 0, NULL, 4 /* to the whole group */), "a signal to its group");
		refused(syscall(448 /* process_mrelease */, process1, 0), "process_mrelease");
		refused(waitid(P_PIDFD, process1, NULL, WEXITED | WNOHANG), "waitid");
	}
	apart(compare, "kcmp");
	take_file();
	held("pidfd_getfd: %s", strerror(errno));
}
