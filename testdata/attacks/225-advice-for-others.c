/* Moves, drops or reaps the memory of another process, which would slow it down.
 * What must stop it: the filter, and the other user. */
#include "attack.h"
#include <sys/syscall.h>
#include <sys/uio.h>

static long call;

static void attempt(void)
{
	static char page[4096];
	struct iovec v = {page, sizeof page};
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
	long r = -1;
	unsigned long nodes = 1;
	int node = 0, status = 0;
	void *address = page;
	switch (call) {
	case 440: r = syscall(440, pidfd, &v, 1, 21, 0); break; /* process_madvise, MADV_PAGEOUT */
	case 448: r = syscall(448, pidfd, 0); break;            /* process_mrelease */
	case SYS_migrate_pages: r = syscall(SYS_migrate_pages, 1, 64, &nodes, &nodes); break;
	case SYS_move_pages: r = syscall(SYS_move_pages, 1, 1, &address, &node, &status, 2); break;
	case SYS_process_vm_readv: r = syscall(SYS_process_vm_readv, 1, &v, 1, &v, 1, 0); break;
	}
	if (r >= 0)
		broke("call %ld returned %ld", call, r);
}

int main(void)
{
	static const long calls[] = {440, 448, SYS_migrate_pages, SYS_move_pages, SYS_process_vm_readv};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		call = calls[i];
		apart(attempt, "advice");
	}
	held("none of them");
}
