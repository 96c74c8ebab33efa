/* Changes its personality: READ_IMPLIES_EXEC makes all memory executable,
 * MMAP_PAGE_ZERO maps address 0, from where kernel bugs become exploits
 * (CVE-2009-1895), ADDR_COMPAT_LAYOUT and 3GB move the layout that is measured,
 * PER_LINUX32 lies about the machine. What must stop it: seccomp lets through
 * the question and ADDR_NO_RANDOMIZE. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>

int main(void)
{
	const unsigned long each[] = {READ_IMPLIES_EXEC, MMAP_PAGE_ZERO, ADDR_COMPAT_LAYOUT, ADDR_LIMIT_3GB, ADDR_LIMIT_32BIT, SHORT_INODE,
		WHOLE_SECONDS, STICKY_TIMEOUTS, UNAME26, FDPIC_FUNCPTRS, PER_LINUX32, PER_SVR4, PER_BSD, PER_SOLARIS,
		ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC, 1UL << 40 | READ_IMPLIES_EXEC};
	long before = personality(0xffffffff);
	for (size_t i = 0; i < sizeof each / sizeof *each; i++)
		if (syscall(SYS_personality, each[i]) >= 0)
			broke("personality %#lx", each[i]);
	if (personality(0xffffffff) != before)
		broke("the personality has changed from %#lx", (unsigned long)before);
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		broke("address 0 can be mapped");
	held("personality %#lx, as it was", (unsigned long)before);
}
