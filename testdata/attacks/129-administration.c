/* Makes the calls of an administrator, each so that it changes nothing where it
 * is allowed: reboot with a wrong magic, swap and accounting on files that do
 * not exist, an empty kernel module, the size of the log; and calls that were
 * taken out of Linux. What must stop it: no capabilities; seccomp kills. */
#include "attack.h"
#include <sys/quota.h>
#include <sys/syscall.h>

static const struct { int number; long arguments[5]; const char *name; } calls[] = {
	{SYS_reboot, {0xfee1dead, 0 /* bad magic */, 0}, "reboot"},
	{SYS_swapon, {(long)"/none", 0}, "swapon"},
	{SYS_swapoff, {(long)"/none"}, "swapoff"},
	{SYS_acct, {(long)"/none"}, "acct"},
	{SYS_quotactl, {QCMD(Q_GETFMT, USRQUOTA), (long)"/none", 0, 0}, "quotactl"},
	{443 /* quotactl_fd */, {0, QCMD(Q_GETFMT, USRQUOTA), 0, 0}, "quotactl_fd"},
	{SYS_syslog, {10 /* size of the buffer */, 0, 0}, "syslog"},
	{SYS_init_module, {0, 0, (long)""}, "init_module"},
	{SYS_finit_module, {-1, (long)"", 0}, "finit_module"},
	{SYS_delete_module, {(long)"judged_none", 04000 /* O_NONBLOCK */}, "delete_module"},
	{SYS_kexec_load, {0, 0, 0, -1}, "kexec_load"},
	{SYS_kexec_file_load, {-1, -1, 0, (long)"", -1}, "kexec_file_load"},
	{SYS_sethostname, {0, -1}, "sethostname"},
	{SYS_setdomainname, {0, -1}, "setdomainname"},
	{SYS_vhangup, {0}, "vhangup, which hangs up the own terminal"},
	{SYS_lookup_dcookie, {1, 0, 0}, "lookup_dcookie"},
	{SYS_nfsservctl, {0}, "nfsservctl"},
#ifdef SYS_uselib
	{SYS_uselib, {(long)"/none"}, "uselib"},
	{SYS__sysctl, {0}, "_sysctl"},
	{SYS_sysfs, {3 /* how many file systems there are */}, "sysfs"},
	{SYS_ustat, {0}, "ustat"},
	{SYS_create_module, {0}, "create_module"},
#endif
	{459 /* lsm_get_self_attr */, {100, 0, 0, 0}, "lsm_get_self_attr"},
	{460 /* lsm_set_self_attr */, {100, 0, 0, 0}, "lsm_set_self_attr"},
	{461 /* lsm_list_modules */, {0, 0, 0}, "lsm_list_modules"},
};
static size_t at;

static void attempt(void)
{
	const long *a = calls[at].arguments;
	long result = syscall(calls[at].number, a[0], a[1], a[2], a[3], a[4]);
	/* EPERM and ENOSYS are refusals; any other error is an answer. */
	if (result >= 0 || (errno != EPERM && errno != ENOSYS))
		broke("%s: %ld, %s", calls[at].name, result, strerror(errno));
}

int main(void)
{
	for (at = 0; at < sizeof calls / sizeof *calls; at++)
		apart(attempt, calls[at].name);
	at = 0;
	attempt();
	held("reboot: %s", strerror(errno));
}
