/* Traces and writes other processes: process 1, which belongs to judged, a
 * process of the host, and its own child. Tracing the parent was how runs took
 * over judges that forked without changing the user. What must stop it: another
 * user and pid namespace, and seccomp, which ends the run. */
#include "attack.h"
#include <sys/ptrace.h>
#include <sys/uio.h>

static pid_t target;

static void seize(void)
{
	if (ptrace(PTRACE_SEIZE, target, 0, 0) == 0) {
		ptrace(PTRACE_DETACH, target, 0, 0);
		broke("traces process %d", target);
	}
}

static void read_memory(void)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
	if (process_vm_readv(target, &here, 1, &there, 1, 0) == 1)
		broke("reads memory of process %d", target);
}

static void write_memory(void)
{
	/* An address that cannot exist: EFAULT tells that a real one would do. */
	char byte = 0;
	struct iovec here = {&byte, 1}, there = {(void *)8, 1};
	if (process_vm_writev(target, &here, 1, &there, 1, 0) == 1 || errno == EFAULT)
		broke("may write memory of process %d", target);
}

int main(int argc, char **argv)
{
	const pid_t targets[] = {1, argc > 1 ? atoi(argv[1]) : 1};
	for (int i = 0; i < 2; i++) {
		target = targets[i];
		apart(seize, "ptrace");
		apart(read_memory, "process_vm_readv");
		apart(write_memory, "process_vm_writev");
	}
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
		broke("ptrace is there");
	held("ptrace: %s", strerror(errno));
}
