/* Asks for a userfaultfd, also one for the own mode only, which everybody may
 * have. It stops the kernel in the middle of a copy for as long as the attacker
 * likes, and turned many races in it into certain ones (CVE-2016-2411 on).
 * What must stop it: seccomp kills. */
#include "attack.h"
#include <fcntl.h>
#include <sys/syscall.h>

static void whole(void)
{
	if (syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK) >= 0)
		broke("userfaultfd");
}

int main(void)
{
	if (open("/dev/userfaultfd", O_RDWR) >= 0)
		broke("/dev/userfaultfd is there");
	apart(whole, "userfaultfd");
	if (syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */) >= 0)
		broke("userfaultfd for user mode");
	held("userfaultfd: %s", strerror(errno));
}
