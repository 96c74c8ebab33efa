/* Reads what the scheduler says of processes that are not its own, by which a run
 * could learn when judged is busy with it. What must stop it: /proc shows the run's
 * own processes, and no file of the host. */
#include "attack.h"

int main(int argc, char **argv)
{
	static const char *const whole[] = {"/proc/schedstat", "/proc/sched_debug", "/proc/pressure/cpu", "/proc/pressure/irq",
		"/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/interrupts", "/proc/softirqs", "/proc/timer_list",
		"/sys/kernel/debug/sched/debug", "/sys/fs/cgroup/cpu.pressure", "/sys/fs/cgroup/unified/cpu.pressure"};
	static const char *const own[] = {"schedstat", "sched", "stat", "status", "wchan", "stack", "syscall",
		"task/1/schedstat"};
	char path[96], line[64];
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		refused(open(whole[i], O_RDONLY), whole[i]);
	int host = argc > 1 ? atoi(argv[1]) : 0, ids[] = {1, host, getppid()};
	for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
		for (size_t i = 0; ids[k] != getpid() && i < sizeof own / sizeof *own; i++) {
			snprintf(path, sizeof path, "/proc/%d/%s", ids[k], own[i]);
			int fd = open(path, O_RDONLY);
			if (fd >= 0 && read(fd, line, sizeof line) > 0)
				broke("%s can be read", path);
		}
	held("its own processes only");
}
