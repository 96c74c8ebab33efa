/* Reads what /proc and /sys tell of the whole host: memory of the kernel, its
 * symbols, keys, sockets, interrupts and load, which are channels between runs
 * as well, and writes the switches there. What must stop it: /proc with
 * subset=pid, no /sys. */
#include "attack.h"
#include <fcntl.h>

int main(void)
{
	static const char *const paths[] = {"/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/keys", "/proc/key-users", "/proc/sys",
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/random/boot_id", "/proc/sys/fs/file-nr", "/proc/sys/fs/inode-nr",
		"/proc/net", "/proc/net/unix", "/proc/meminfo", "/proc/vmstat", "/proc/zoneinfo", "/proc/buddyinfo", "/proc/slabinfo",
		"/proc/stat", "/proc/interrupts", "/proc/softirqs", "/proc/loadavg", "/proc/uptime", "/proc/schedstat", "/proc/sched_debug",
		"/proc/timer_list", "/proc/locks", "/proc/diskstats", "/proc/pressure/cpu", "/proc/cgroups", "/proc/cmdline", "/proc/config.gz",
		"/proc/cpuinfo", "/proc/version", "/proc/modules", "/proc/mounts/../1", "/proc/sysrq-trigger", "/proc/sysvipc/shm",
		"/proc/kpagecount", "/proc/kpageflags", "/proc/fs", "/proc/bus", "/proc/acpi", "/proc/tty/drivers", "/proc/vmallocinfo",
		"/sys", "/sys/kernel/debug", "/sys/fs/cgroup", "/sys/kernel/mm/ksm/pages_shared", "/sys/devices/system/cpu", "/dev/kmsg",
		"/dev/mem", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/vsock", "/dev/hugepages", "/dev/mqueue", "/etc/shadow", "/etc/hostname"};
	int open_ones = 0;
	const char *one = NULL;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		int fd = open(paths[i], O_RDONLY | O_NONBLOCK);
		if (fd >= 0 || access(paths[i], F_OK) == 0) {
			open_ones++;
			one = paths[i];
			printf("%s is there\n", paths[i]);
		}
		if (fd >= 0)
			close(fd);
	}
	if (open_ones > 0)
		broke("%d files tell of the host, such as %s", open_ones, one);
	held("nothing of the host");
}
