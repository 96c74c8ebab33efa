/* Makes a call by int 0x80, with i386 numbers: a filter that does not look at
 * the architecture reads unshare (310) as another call. go-seccomp-bpf allowed
 * everything here. What must stop it: seccomp kills foreign architectures. */
#include "attack.h"

static long call32(long number, long argument)
{
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(argument) : "memory");
	return result;
}

static void unshare32(void)
{
	if (call32(310, 0x10000000) == 0) /* unshare(CLONE_NEWUSER) */
		broke("unshare by int 0x80");
}

static void socket32(void)
{
	if (call32(359, 1) >= 0) /* socket(AF_UNIX, ...) */
		broke("socket by int 0x80");
}

int main(void)
{
	apart(unshare32, "unshare");
	apart(socket32, "socket");
	long pid = call32(20, 0);
	if (pid == getpid())
		broke("getpid by int 0x80 is %ld", pid);
	held("int 0x80 says %ld", pid);
}
