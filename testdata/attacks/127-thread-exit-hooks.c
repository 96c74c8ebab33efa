/* Gives the kernel addresses that it writes to later, when a thread ends or is
 * preempted: set_tid_address and robust lists (CVE-2014-0205, CVE-2018-6927 of
 * futex), rseq areas, pointing into the kernel's half, into read-only text of
 * /usr and in circles; and asks for the robust list of process 1. What must stop
 * it: the kernel checks each as it would its own user's; a broken one costs the
 * thread its life. */
#include "attack.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/rseq.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define KERNEL 0xffffffff81000000UL

static char *text;

static void tid_in_kernel(void)
{
	syscall(SYS_set_tid_address, KERNEL);
}

static void tid_in_text(void)
{
	syscall(SYS_set_tid_address, text);
}

static void robust_circle(void)
{
	static struct robust_list_head head;
	static struct robust_list a, b;
	head.list.next = &a, a.next = &b, b.next = &a; /* never comes back to the head */
	head.futex_offset = (long)KERNEL;
	syscall(SYS_set_robust_list, &head, sizeof head);
}

static void robust_in_kernel(void)
{
	syscall(SYS_set_robust_list, KERNEL, sizeof(struct robust_list_head));
}

static void rseq_in_kernel(void)
{
	if (syscall(SYS_rseq, KERNEL & ~31UL, sizeof(struct rseq), 0, 0x53053053) == 0)
		broke("rseq in the kernel's half");
}

static void rseq_jump(void)
{
	static struct rseq area __attribute__((aligned(32)));
	static struct rseq_cs section __attribute__((aligned(32)));
	section = (struct rseq_cs){.start_ip = 0, .post_commit_offset = ~0ULL, .abort_ip = KERNEL};
	if (syscall(SYS_rseq, &area, sizeof area, 0, 0x53053053) < 0)
		return; /* libc has one already */
	memcpy((char *)&area + 8, &(uint64_t){(uintptr_t)&section}, 8); /* rseq_cs */
	syscall(SYS_sched_yield);
}

int main(void)
{
	struct robust_list_head *head;
	size_t size;
	int file = open(host_file(), O_RDONLY);
	text = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	char before = text == MAP_FAILED ? 0 : text[0];
	apart(tid_in_kernel, "tid in the kernel");
	apart(tid_in_text, "tid in a file of /usr");
	apart(robust_circle, "robust list in a circle");
	apart(robust_in_kernel, "robust list in the kernel");
	apart(rseq_in_kernel, "rseq in the kernel");
	apart(rseq_jump, "rseq to the kernel");
	if (text != MAP_FAILED && text[0] != before)
		broke("a file of /usr was written");
	refused(syscall(SYS_get_robust_list, 1, &head, &size), "robust list of process 1");
	held("only threads of its own ended");
}
