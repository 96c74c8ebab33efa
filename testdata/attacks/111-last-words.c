/* What the kernel does for a thread that ends: it walks its list of robust futexes,
 * writes to the address of set_tid_address and wakes who waits there. Lists that form
 * a circle, point to the kernel or to read-only memory, in a process that is being
 * killed. What must stop it: the walk is bounded (ROBUST_LIST_LIMIT, 2048) and
 * writes as the user would. CVE-2014-3153 (Towelroot) came in by futexes. */
#include "attack.h"
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void die(int how, uint32_t *page)
{
	static struct robust_list_head head;
	static struct robust_list circle;
	void *const places[] = {page, (void *)-4096L, (void *)1, &head};
	circle.next = &circle;
	head.list.next = how & 1 ? &circle : (struct robust_list *)-8L;
	head.list_op_pending = &circle;
	head.futex_offset = how & 2 ? (long)((char *)page - (char *)&circle) : LONG_MIN;
	syscall(SYS_set_robust_list, &head, sizeof head);
	syscall(SYS_set_tid_address, places[how / 4 % 4]);
	if (how & 16)
		raise(SIGKILL);
	syscall(SYS_exit, 0);
}

int main(void)
{
	uint32_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	mprotect(page, 4096, PROT_READ);
	for (int how = 0; how < 32; how++) {
		int status = -1;
		pid_t child = fork();
		if (child == 0)
			die(how, page);
		if (waitpid(child, &status, 0) != child || (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL))
			broke("child %d: status %d", how, status);
		if (*page != 0)
			broke("the kernel wrote to a read-only page");
	}
	held("32 processes ended");
}
