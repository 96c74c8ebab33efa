/* Have the kernel's threads work: io_uring with a polling thread, native aio,
 * AF_ALG hashing, packets over loopback in softirqs, a thread for each message of a
 * queue. None of it is counted for the run. What must stop it: seccomp. */
#include "attack.h"
#include <fcntl.h>
#include <mqueue.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>

int main(void)
{
	uint32_t params[30] = {[2] = 1 << 1 /* IORING_SETUP_SQPOLL */};
	unsigned long context = 0;
	refused(syscall(SYS_io_uring_setup, 8, params), "io_uring with SQPOLL");
	memset(params, 0, sizeof params);
	refused(syscall(SYS_io_uring_setup, 8, params), "io_uring");
	refused(syscall(SYS_io_setup, 8, &context), "io_setup");
	refused(socket(38 /* AF_ALG */, SOCK_SEQPACKET, 0), "AF_ALG");
	refused(socket(AF_INET, SOCK_DGRAM, 0), "AF_INET");
	refused(socket(AF_INET6, SOCK_STREAM, 0), "AF_INET6");
	refused(socket(AF_UNIX, SOCK_STREAM, 0), "AF_UNIX");
	refused(mq_open("/work", O_CREAT | O_RDWR, 0600, NULL), "mq_open");
	mq_unlink("/work");
	held("no kernel thread to work for it");
}
