/* Compute in children that hardly are processes: vfork chains, in which every
 * parent sleeps in the kernel, clone with CLONE_VM and no exit signal, which wait
 * does not see without __WCLONE, and CLONE_FILES|CLONE_FS ones. What must stop
 * it: the CPU time of the cgroup. */
#include "burn.h"
#include <sched.h>
#include <sys/wait.h>

static char stack[65536] __attribute__((aligned(16)));

static int work(void *unused)
{
	(void)unused;
	burn(0.030);
	return 0;
}

static void chain(int depth)
{
	if (depth > 0 && vfork() == 0) {
		burn(0.030);
		chain(depth - 1);
		_exit(0);
	}
}

int main(void)
{
	chain(4);
	pid_t silent = clone(work, stack + sizeof stack, CLONE_VM, NULL);
	if (silent < 0 || waitpid(silent, NULL, __WCLONE) != silent)
		broke("cannot try: clone: %s", strerror(errno));
	pid_t close_kin = clone(work, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_FS | CLONE_FILES | CLONE_SIGHAND, NULL);
	if (close_kin < 0)
		broke("cannot try: clone: %s", strerror(errno));
	held("six children used 180 ms, to be counted");
}
