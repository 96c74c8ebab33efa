/* Installs filters of its own: one that answers for the kernel (a program that
 * is told "0 bytes" by its own filter is a way around counters), one with
 * SECCOMP_RET_USER_NOTIF, whose listener decides calls of the process, one with
 * TRACE; strict mode; Landlock rules, which are kernel code for anybody. What
 * must stop it: seccomp refuses itself. */
#include "attack.h"
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

int main(void)
{
	struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_filter notify[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog one = {1, allow}, listener = {4, notify};
	struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE};
	unsigned action = SECCOMP_RET_USER_NOTIF;
	struct seccomp_notif_sizes sizes;
	refused(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &one, 0, 0), "prctl filter");
	refused(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0), "prctl strict");
	refused(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &one), "filter");
	refused(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &one), "filter for all threads");
	refused(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &listener), "listener");
	refused(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &one), "filter without mitigations");
	refused(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action), "question for actions");
	refused(syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes), "question for sizes");
	refused(syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION), "landlock version");
	refused(syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0), "landlock rules");
	refused(syscall(SYS_landlock_restrict_self, -1, 0), "landlock");
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		broke("no filter is on");
	held("no filter of its own");
}
