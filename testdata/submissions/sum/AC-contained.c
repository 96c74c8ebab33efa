/* Proves that the sandbox refuses what it refuses with an error, without ending the program: exits with 100 + the number of the first attempt that succeeded. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static long long sum(void)
{
	long long n, x, total = 0;
	if (scanf("%lld", &n) != 1)
		return 0;
	while (n-- > 0 && scanf("%lld", &x) == 1)
		total += x;
	return total;
}

static int inet(void) { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }
static int vsock(void) { return socket(40 /* AF_VSOCK */, SOCK_STREAM, 0) >= 0; }
static int root(void) { return setuid(0) == 0 || getuid() == 0; }
static int realtime(void)
{
	struct sched_param one = {.sched_priority = 1};
	return sched_setscheduler(0, SCHED_FIFO, &one) == 0;
}
static int nice_down(void) { return setpriority(PRIO_PROCESS, 0, -20) == 0; }
static int raise_limit(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}
static int kill_all(void) { return kill(-1, 0) == 0; }
static int write_system(void) { return open("/usr/x", O_CREAT | O_WRONLY, 0600) >= 0 && unlink("/usr/x") == 0; }
static int read_shadow(void) { return open("/etc/shadow", O_RDONLY) >= 0; }
static int read_init(void) { return open("/proc/1/environ", O_RDONLY) >= 0; }
static int read_kernel(void) { return open("/proc/kallsyms", O_RDONLY) >= 0; }
static int see_cgroups(void) { return access("/sys/fs/cgroup", F_OK) == 0; }
static int device(void) { return mknod("disk", S_IFBLK | 0600, makedev(8, 0)) == 0 && unlink("disk") == 0; }
static int write_input(void) { return write(0, "x", 1) == 1; }
static int inherited(void)
{
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 1;
	return 0;
}
static int locked(void) { return mlockall(MCL_CURRENT) == 0; }

int main(void)
{
	int (*attempts[])(void) = {inherited, inet, vsock, root, realtime, nice_down, raise_limit, kill_all, write_system,
		read_shadow, read_init, read_kernel, see_cgroups, device, write_input, locked};
	for (unsigned i = 0; i < sizeof attempts / sizeof *attempts; i++)
		if (attempts[i]())
			return 100 + (int)i;
	printf("%lld\n", sum());
	return 0;
}
