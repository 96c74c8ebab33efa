/* Sets up io_uring in its variants and old aio. A ring makes files, sockets
 * and threads past seccomp, by kernel threads that no run is billed for;
 * isolate had it as a maker of sockets until 2.6. What must stop it: seccomp,
 * with ENOSYS as on a kernel without. */
#include "attack.h"
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>

int main(void)
{
	const unsigned flags[] = {0, IORING_SETUP_SQPOLL, IORING_SETUP_IOPOLL, IORING_SETUP_R_DISABLED, IORING_SETUP_SUBMIT_ALL,
		1U << 12 | 1U << 13 /* SINGLE_ISSUER, DEFER_TASKRUN */, 1U << 14 /* NO_MMAP */};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		struct io_uring_params p = {.flags = flags[i], .sq_thread_idle = 1};
		if (syscall(SYS_io_uring_setup, 4, &p) >= 0)
			broke("a ring with flags %#x", flags[i]);
		if (errno != ENOSYS)
			broke("io_uring_setup exists: %s", strerror(errno));
	}
	/* Since 6.13 some registrations need no ring: the descriptor is -1. */
	refused(syscall(SYS_io_uring_register, -1, 31 /* SEND_MSG_RING */, NULL, 1), "io_uring_register");
	if (errno != ENOSYS)
		broke("io_uring_register exists: %s", strerror(errno));
	refused(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0), "io_uring_enter");
	if (errno != ENOSYS)
		broke("io_uring_enter exists: %s", strerror(errno));
	aio_context_t aio = 0;
	refused(syscall(SYS_io_setup, 8, &aio), "io_setup");
	held("no ring and no aio");
}
