/* Listens on a vsock port and connects to it from the run next to it, and to
 * the hypervisor. Vsock is in no namespace, so only seccomp can stop it.
 * isolate had this channel until 2.4. */
#include "attack.h"
#include <sys/socket.h> /* before the next, which older headers do not complete */
#include <linux/vm_sockets.h>
#include <time.h>

#define PORT 0x4a554447

static int reach(unsigned cid)
{
	struct sockaddr_vm a = {.svm_family = AF_VSOCK, .svm_cid = cid, .svm_port = PORT};
	struct timeval soon = {0, 10000};
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	if (fd < 0)
		return 0;
	setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT, &soon, sizeof soon);
	int reached = connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
	close(fd);
	return reached;
}

int main(int argc, char **argv)
{
	struct sockaddr_vm any = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = PORT};
	int listening = argc > 1 && strcmp(argv[1], "listen") == 0;
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	printf("socket: %s\n", fd < 0 ? strerror(errno) : "made");
	if (fd >= 0 && listening && bind(fd, (struct sockaddr *)&any, sizeof any) == 0 && listen(fd, 1) == 0)
		printf("listening on all machines of this host\n");
	for (int i = 0; i < 30; i++, nanosleep(&(struct timespec){0, 10000000}, NULL))
		for (unsigned cid = VMADDR_CID_LOCAL; !listening && cid <= VMADDR_CID_HOST; cid++)
			if (reach(cid))
				broke("connected to context %u", cid);
	if (fd >= 0)
		broke("a vsock socket could be made");
	held("no vsock");
}
