/* Asks for root and for capabilities by every call there is, and for the
 * securebits and ambient sets that would bring them back at the next execve.
 * What must stop it: all sets are empty, the bounding set too, and locked. */
#include "attack.h"
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <grp.h>

int main(void)
{
	const gid_t none = 0;
	refused(setuid(0), "setuid");
	refused(setgid(0), "setgid");
	refused(setreuid(0, 0), "setreuid");
	refused(setregid(0, 0), "setregid");
	refused(setresuid(-1, 0, -1), "setresuid");
	refused(setresgid(-1, 0, -1), "setresgid");
	refused(setgroups(1, &none), "setgroups");
	setfsuid(0);
	if (setfsuid(-1) == 0)
		broke("setfsuid");
	setfsgid(0);
	if (setfsgid(-1) == 0)
		broke("setfsgid");
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct have[2], all[2] = {{~0u, ~0u, ~0u}, {~0u, ~0u, ~0u}};
	refused(syscall(SYS_capset, &header, all), "capset");
	if (syscall(SYS_capget, &header, have) == 0)
		for (int i = 0; i < 2; i++)
			if (have[i].effective | have[i].permitted | have[i].inheritable)
				broke("capabilities %x, %x, %x", have[i].effective, have[i].permitted, have[i].inheritable);
	for (int cap = 0; cap < 41; cap++) {
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			broke("capability %d is in the bounding set", cap);
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) == 0)
			broke("capability %d is in the ambient set", cap);
	}
	refused(prctl(PR_SET_SECUREBITS, 0, 0, 0, 0), "securebits");
	refused(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keepcaps");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		broke("no_new_privs is not set");
	if (getgroups(0, NULL) != 0)
		broke("%d further groups", getgroups(0, NULL));
	held("user %u, no capability", getuid());
}
