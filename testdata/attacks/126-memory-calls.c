/* Goes through the rarer calls about memory: secret memory, which judged could
 * not read or bill as usual; advice for other processes and to the kernel
 * (poison a page, merge, page out what others warmed); old nonlinear mappings;
 * sealed and shadow memory; huge pages, locked pages, mapping address 0. What
 * must stop it: seccomp for calls, RLIMIT_MEMLOCK of 0, capabilities. */
#include "attack.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int main(void)
{
	const size_t page = 4096;
	int file = open(host_file(), O_RDONLY), self = syscall(SYS_pidfd_open, getpid(), 0);
	char *own = mmap(NULL, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	char *text = mmap(NULL, 4 * page, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
	struct { void *base; size_t length; } all = {own, page};
	if (own == MAP_FAILED || text == MAP_FAILED)
		broke("cannot try: %s", strerror(errno));
	refused(syscall(447 /* memfd_secret */, 0), "memfd_secret");
	refused(syscall(440 /* process_madvise */, self, &all, 1, MADV_COLD, 0), "process_madvise");
	refused(syscall(448 /* process_mrelease */, self, 0), "process_mrelease");
	refused(syscall(451 /* cachestat */, file, &all, &all, 0), "cachestat");
	refused(syscall(462 /* mseal */, own, page, 0), "mseal");
	refused(syscall(SYS_remap_file_pages, text, page, 0, 2, 0), "remap_file_pages");
	refused(mincore(text, page, (unsigned char *)own), "mincore");
	if (geteuid() != 0) { /* root would lose a page of the machine for good */
		refused(madvise(own, page, 100 /* HWPOISON */), "poison");
		refused(madvise(own, page, 101 /* SOFT_OFFLINE */), "offline");
	}
	refused(mlock(own, page), "mlock");
	refused(mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT), "mlockall");
	refused(mprotect(text, page, PROT_READ | PROT_WRITE), "a writable mapping of /usr");
	if (mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0) != MAP_FAILED)
		broke("a page of the host's huge pages");
	if (mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0) != MAP_FAILED)
		broke("locked memory");
	if (mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		broke("a page at address 0");
	if (mmap((void *)0xffff800000000000UL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		broke("a page of the kernel's half");
	held("none of them");
}
