/* Asks the compiler which files there are, and includes them: the compiler of
 * a judge that runs as root reads more than the program may. What must stop it:
 * the compiler runs in a sandbox that shows no such file. */
#if __has_include("{canary}")
#define FOUND "{canary}"
#elif __has_include("/etc/shadow")
#define FOUND "/etc/shadow"
#elif __has_include("/root/.bashrc") || __has_include("/root/.profile")
#define FOUND "a file in /root"
#elif __has_include("/proc/{hostpid}/environ")
#define FOUND "a process of the host"
#elif __has_include("/sys/kernel/mm")
#define FOUND "/sys"
#endif
#include "attack.h"

int main(void)
{
#ifdef FOUND
	broke("the compiler sees %s", FOUND);
#else
	held("the compiler sees no file of the host");
#endif
}
