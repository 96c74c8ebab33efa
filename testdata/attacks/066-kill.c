/* Signals to everybody: process 1, all pids up to 5000, all groups, a process
 * of the host. Signal 0 asks for the permission only. DMOJ and runguard have no
 * pid namespace and rely on users alone. What must stop it: a fresh pid
 * namespace, in which only process 1 is there besides, of another user. */
#include "attack.h"
#include <signal.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
	siginfo_t info = {.si_code = SI_QUEUE};
	pid_t host = argc > 1 ? atoi(argv[1]) : 1;
	refused(kill(1, 0), "kill(1)");
	refused(kill(-1, 0), "kill(-1), everybody");
	if (kill(host, 0) == 0 && host != getpid())
		broke("reaches process %d of the host", host);
	refused(syscall(SYS_tgkill, 1, 1, 0), "tgkill");
	refused(syscall(SYS_rt_sigqueueinfo, 1, 0, &info), "rt_sigqueueinfo");
	int fd = syscall(SYS_pidfd_open, 1, 0);
	if (fd >= 0)
		refused(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0), "pidfd_send_signal");
	for (pid_t pid = 2; pid <= 5000; pid++) {
		if (pid != getpid() && (kill(pid, 0) == 0 || errno != ESRCH))
			broke("there is a process %d", pid);
		if (pid != getpgrp() && (kill(-pid, 0) == 0 || errno != ESRCH))
			broke("there is a process group %d", pid);
	}
	held("nobody but process 1, who may not be signalled");
}
