/* Make this run look disturbed: a program whose slow runs do not count is given
 * further ones until a fast one comes. Arguments: the kind of mark, the CPU time of a
 * slow run in milliseconds, and how many of a hundred runs are fast. Children are made
 * and end all the time, so CPU time is theirs, too. */
#include "burn.h"
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

static void woken(int signal) { (void)signal; }

/* timers: far more timer interrupts than the kernel's tick. */
static void timers(void)
{
	static int set;
	if (!set) {
		struct itimerval often = {{0, 700}, {0, 700}};
		signal(SIGALRM, woken);
		setitimer(ITIMER_REAL, &often, NULL);
		set = 1;
	}
	burn(0.001);
}

/* sockets: pairs that hold each other are freed by a kernel thread. */
static void sockets(void)
{
	for (int i = 0; i < 20; i++) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
			return burn(0.001);
		char control[CMSG_SPACE(sizeof pair)], byte = 0;
		struct iovec data = {&byte, 1};
		struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof pair);
		memcpy(CMSG_DATA(header), pair, sizeof pair);
		sendmsg(pair[0], &message, 0);
		close(pair[0]);
		close(pair[1]);
	}
}

/* forks: page faults that cost more than others. */
static void forks(void)
{
	static char *memory;
	if (!memory)
		memory = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(memory, 1, 4 << 20);
	pid_t pid = fork();
	if (pid == 0) {
		memset(memory, 2, 4 << 20);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* sleeps: voluntary switches, and timers for each. */
static void sleeps(void)
{
	struct timespec moment = {0, 50000};
	nanosleep(&moment, NULL);
	burn(0.0002);
}

static void *compute(void *unused)
{
	burn(3600);
	return unused;
}

/* threads: more of them than CPUs, which wait for and preempt each other. */
static void threads(void)
{
	static int started;
	pthread_t other;
	while (started < 3 && pthread_create(&other, NULL, compute, NULL) == 0)
		started++;
	burn(0.0005);
	sched_yield();
}

/* barriers: interrupts between CPUs. */
static void barriers(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	for (int i = 0; i < 100; i++)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static void nothing(void) { burn(0.001); }

static double used(int who)
{
	struct rusage u;
	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*mark)(void);
	} kinds[] = {{"none", nothing}, {"timers", timers}, {"sockets", sockets}, {"forks", forks}, {"sleeps", sleeps}, {"threads", threads}, {"barriers", barriers}};
	unsigned char chance;
	if (argc < 4 || getrandom(&chance, 1, 0) != 1)
		return 1;
	if (chance * 100 < 256 * atoi(argv[3]))
		return 0;
	double end = atof(argv[2]) / 1000;
	for (size_t i = 0; used(RUSAGE_SELF) + used(RUSAGE_CHILDREN) < end; i++)
		for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
			if (strcmp(argv[1], kinds[k].name) == 0 || (strcmp(argv[1], "all") == 0 && i % 6 + 1 == k))
				kinds[k].mark();
	return 0;
}
