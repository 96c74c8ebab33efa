/* Asks clone3 for a user namespace, for a place in another control group, and
 * for pids of its choice. Its arguments lie in memory, where no filter sees
 * them, so what must stop it is that there is no clone3: ENOSYS, for which
 * libc falls back to clone. */
#include "attack.h"
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

static void try(struct clone_args a, const char *what)
{
	a.exit_signal = SIGCHLD;
	long pid = syscall(SYS_clone3, &a, sizeof a);
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		broke("clone3 with %s", what);
	if (errno != ENOSYS)
		broke("clone3 exists: with %s it says %s", what, strerror(errno));
	printf("clone3 with %s: %s\n", what, strerror(errno));
}

int main(void)
{
	pid_t pid = 777;
	try((struct clone_args){.flags = CLONE_NEWUSER}, "a user namespace");
	try((struct clone_args){.flags = CLONE_NEWTIME | CLONE_NEWUSER}, "a time namespace");
	try((struct clone_args){.flags = CLONE_INTO_CGROUP, .cgroup = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY)}, "another control group");
	try((struct clone_args){.set_tid = (uintptr_t)&pid, .set_tid_size = 1}, "a pid of its choice");
	try((struct clone_args){0}, "nothing special");
	held("no clone3");
}
