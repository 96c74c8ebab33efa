/* Lock memory, so that it cannot be reclaimed: mlock, mlock2, mlockall, MAP_LOCKED,
 * with a higher limit first. What must stop it: RLIMIT_MEMLOCK 0. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/resource.h>

int main(void)
{
	static char page[8192];
	struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
	refused(setrlimit(RLIMIT_MEMLOCK, &most), "setrlimit MEMLOCK");
	refused(mlock(page, sizeof page), "mlock");
	refused(mlock2(page, sizeof page, MLOCK_ONFAULT), "mlock2");
	refused(mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
	refused(mlockall(MCL_FUTURE | MCL_ONFAULT), "mlockall on fault");
	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0) != MAP_FAILED)
		broke("MAP_LOCKED");
	held("nothing locked");
}
