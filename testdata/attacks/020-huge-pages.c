/* Get huge pages: by asking, by collapsing, and by switching off what forbids
 * them. They depend on how fragmented the host's memory is, khugepaged makes them on
 * nobody's account, and a program is up to a third faster. What must stop it:
 * PR_SET_THP_DISABLE, inherited from judged-init, and seccomp for its removal. */
#include "attack.h"
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define HUGE (2UL << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static long faults(void)
{
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return r.ru_minflt;
}

int main(void)
{
	size_t size = 8 * HUGE;
	refused(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), "PR_SET_THP_DISABLE");
	char *space = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (space == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	space = (char *)(((uintptr_t)space + HUGE - 1) & ~(HUGE - 1));
	madvise(space, size, MADV_HUGEPAGE);
	long before = faults();
	for (size_t at = 0; at < size; at += 4096)
		*(volatile char *)(space + at) = 1;
	if (faults() - before < (long)(size / 4096))
		broke("%ld faults for %zu pages", faults() - before, size / 4096);
	refused(madvise(space, HUGE, MADV_COLLAPSE), "MADV_COLLAPSE");
	held("a fault for every small page");
}
