/* Hold memory that the memory cgroup does not see: pages of hugetlbfs, which an
 * operator may have set aside, are not counted before Linux 6.7 nor without an option
 * of the mount after it. By mmap and by memfd, with 2 MiB and 1 GiB. What must stop it:
 * there are none on a host for judging. */
#include "attack.h"
#include <linux/memfd.h>
#include <sys/mman.h>

#define HUGE (2UL << 20)

int main(void)
{
	const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
	for (int shift = 21; shift <= 30; shift += 9) {
		size_t size = 1UL << shift;
		if (mmap(NULL, size, PROT_READ | PROT_WRITE, anonymous | shift << MAP_HUGE_SHIFT, -1, 0) != MAP_FAILED)
			broke("a page of %zu bytes", size);
		printf("mmap of %zu bytes: %s\n", size, strerror(errno));
	}
	int fd = memfd_create("huge", MFD_HUGETLB);
	if (fd < 0)
		held("memfd_create: %s", strerror(errno));
	if (ftruncate(fd, HUGE) == 0 && mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
		broke("a memfd of a huge page");
	held("no huge pages to have: %s", strerror(errno));
}
