/* Looks for channels between runs. "look" prints lines of a name and a value for everything that a run can read and
 * that another run might have changed: the results of stat, statx, statfs and readlink for every file, the contents
 * of files of /proc, the numbers that the kernel assigns to new objects, and the results of system calls. "change"
 * tries to change all of it. "hold" does so too, and then waits to be killed. Time stamps have an @ before them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U
#endif

typedef unsigned long long ull;

static void number(const char *name, const char *member, ull value) { printf("%s %s\t%llu\n", name, member, value); }

static void moment(const char *name, const char *member, long long seconds, unsigned nanoseconds)
{
	printf("%s %s\t@%lld\n", name, member, seconds * 1000000000 + nanoseconds);
}

static void tell_statx(int dir, const char *path, int flags, const char *name)
{
	struct statx x;
	/* All fields, and the unique ID of the mount instead of the short one. */
	for (unsigned mask = STATX_ALL; ; mask = 0x7fffffff & ~STATX_MNT_ID) {
		memset(&x, 0, sizeof x);
		if (syscall(SYS_statx, dir, path, flags | AT_NO_AUTOMOUNT, mask, &x) < 0) {
			printf("%s statx\t%s\n", name, strerror(errno));
			return;
		}
		if (mask != STATX_ALL)
			break;
	}
	number(name, "mask", x.stx_mask);
	number(name, "attributes", x.stx_attributes);
	number(name, "links", x.stx_nlink);
	number(name, "mode", x.stx_mode);
	number(name, "inode", x.stx_ino);
	number(name, "size", x.stx_size);
	number(name, "blocks", x.stx_blocks);
	number(name, "device", (ull)x.stx_dev_major << 32 | x.stx_dev_minor);
	number(name, "represents", (ull)x.stx_rdev_major << 32 | x.stx_rdev_minor);
	number(name, "user", (ull)x.stx_uid << 32 | x.stx_gid);
	if (x.stx_mask & STATX_MNT_ID_UNIQUE)
		number(name, "mount", ((uint64_t *)&x)[144 / 8]);
	moment(name, "atime", x.stx_atime.tv_sec, x.stx_atime.tv_nsec);
	moment(name, "mtime", x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec);
	moment(name, "ctime", x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec);
	if (x.stx_mask & STATX_BTIME)
		moment(name, "btime", x.stx_btime.tv_sec, x.stx_btime.tv_nsec);
}

static void tell_space(const char *path, const char *name)
{
	struct statfs s;
	if (statfs(path, &s) < 0)
		return;
	number(name, "kind", s.f_type);
	number(name, "blocks free", s.f_bfree);
	number(name, "inodes free", s.f_ffree);
	printf("%s id\t%x %x\n", name, s.f_fsid.__val[0], s.f_fsid.__val[1]);
}

/* content prints the lines of a file of /proc. The name is the first word if a colon follows it, otherwise the number of
 * the line. */
static void content(const char *path, const char *name)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		printf("%s open\t%s\n", name, strerror(errno));
		return;
	}
	size_t n = 0;
	ssize_t got;
	while (n < sizeof text - 1 && (got = read(fd, text + n, sizeof text - 1 - n)) > 0)
		n += got;
	close(fd);
	for (size_t i = 0; i < n; i++)
		if (text[i] == 0)
			text[i] = ' ';
	text[n] = 0;
	int count = 0;
	const char *base = strrchr(name, '/');
	int fields = base && (strcmp(base, "/stat") == 0 || strcmp(base, "/statm") == 0 || strcmp(base, "/schedstat") == 0);
	for (char *rest = text, *line; (line = strsep(&rest, fields ? " \n" : "\n")); count++) {
		char *colon = strchr(line, ':');
		size_t word = colon ? strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.-") : 0;
		size_t blank = colon ? word + strspn(line + word, " ") : 0;
		if (*line == 0)
			continue;
		if (colon && word > 0 && line + blank == colon)
			printf("%s:%.*s\t%s\n", name, (int)word, line, colon + 1 + strspn(colon + 1, " \t"));
		else
			printf("%s:%d\t%s\n", name, count + 1, line);
	}
}

/* quiet reports whether a file of /proc is the run's own memory or must not be read. */
static int quiet(const char *base)
{
	static const char *const names[] = {"mem", "pagemap", "clear_refs", "map_files", "auxv", "environ", "cmdline"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(base, names[i]) == 0)
			return 1;
	return 0;
}

static void visit(const char *path, void (*each)(const char *path, const char *name, const struct stat *st));

static void visit_names(const char *path, void (*each)(const char *path, const char *name, const struct stat *st))
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char inner[4096];
		const char *base = names[i]->d_name;
		snprintf(inner, sizeof inner, "%s/%s", strcmp(path, "/") == 0 ? "" : path, base);
		if (strcmp(base, ".") != 0 && strcmp(base, "..") != 0 && !(strncmp(path, "/proc/", 6) == 0 && quiet(base)))
			visit(inner, each);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* visit calls each for a file and everything below it. Processes of the run are named P. */
static void visit(const char *path, void (*each)(const char *path, const char *name, const struct stat *st))
{
	struct stat st;
	char name[4096], self[32];
	if (lstat(path, &st) < 0) {
		printf("%s lstat\t%s\n", path, strerror(errno));
		return;
	}
	snprintf(name, sizeof name, "%s", path);
	int n = snprintf(self, sizeof self, "/proc/%d", getpid());
	if (strncmp(path, self, n) == 0 && (path[n] == 0 || path[n] == '/'))
		snprintf(name, sizeof name, "/proc/P%s", path + n);
	each(path, name, &st);
	/* Threads have a folder below that of their process: one level of recursion is enough. */
	if (S_ISDIR(st.st_mode))
		visit_names(path, each);
}

static void look_at(const char *path, const char *name, const struct stat *st)
{
	char target[4096], list[4096], value[4096], long_name[8192];
	tell_statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, name);
	tell_space(path, name);
	ssize_t n = llistxattr(path, list, sizeof list);
	for (ssize_t i = 0; i < n; i += strlen(list + i) + 1) {
		ssize_t got = lgetxattr(path, list + i, value, sizeof value);
		printf("%s attribute %s\t%.*s\n", name, list + i, got > 0 ? (int)got : 0, value);
	}
	if (S_ISLNK(st->st_mode) && (n = readlink(path, target, sizeof target - 1)) > 0) {
		target[n] = 0;
		printf("%s link\t%s\n", name, target);
		if (strncmp(name, "/proc/P", 7) == 0) {
			snprintf(long_name, sizeof long_name, "%s target", name);
			tell_statx(AT_FDCWD, path, 0, long_name);
		}
	}
	if (S_ISREG(st->st_mode) && strncmp(path, "/proc/", 6) == 0)
		content(path, name);
}

static void new_object(int fd, const char *name)
{
	char path[64], info[64];
	if (fd < 0) {
		printf("%s\t%s\n", name, strerror(errno));
		return;
	}
	tell_statx(fd, "", AT_EMPTY_PATH, name);
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	snprintf(info, sizeof info, "%s fdinfo", name);
	content(path, info);
	close(fd);
}

static void look_at_objects(void)
{
	int pair[2];
	sigset_t none;
	sigemptyset(&none);
	socklen_t size;
	new_object(pipe(pair) < 0 ? -1 : (close(pair[1]), pair[0]), "new pipe");
	new_object(memfd_create("m", 0), "new memfd");
	new_object(epoll_create1(0), "new epoll");
	new_object(eventfd(0, 0), "new eventfd");
	new_object(timerfd_create(CLOCK_MONOTONIC, 0), "new timerfd");
	new_object(signalfd(-1, &none, 0), "new signalfd");
	new_object(open("/box/tmp/new", O_CREAT | O_RDWR | O_EXCL, 0600), "new file");
	unlink("/box/tmp/new");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
		for (int option = 1; option < 90; option++) {
			char answer[256];
			size = sizeof answer;
			memset(answer, 0, sizeof answer);
			if (getsockopt(pair[0], SOL_SOCKET, option, answer, &size) < 0)
				continue;
			printf("new socket option %d\t", option);
			for (socklen_t i = 0; i < size && i < sizeof answer; i++)
				printf("%02x", (unsigned char)answer[i]);
			printf("\n");
		}
		close(pair[1]);
		new_object(pair[0], "new socket");
	}
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	number("new process", "pid", pid);
	new_object(syscall(SYS_pidfd_open, pid, 0), "new pidfd");
	waitpid(pid, NULL, 0);
	timer_t timer;
	struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
	if (timer_create(CLOCK_MONOTONIC, &nothing, &timer) == 0)
		number("new timer", "id", (ull)(uintptr_t)timer);
	number("new key", "id", pkey_alloc(0, 0));
	number("memory", "brk", (ull)(uintptr_t)sbrk(0));
	number("memory", "mmap", (ull)(uintptr_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	number("memory", "stack", (ull)(uintptr_t)&pair);
}

static void look_at_answers(void)
{
	struct sysinfo s;
	struct utsname u;
	struct rusage r;
	struct rlimit limit;
	struct tms t;
	struct timespec resolution;
	struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; uint32_t low, high; } a = {0};
	if (sysinfo(&s) == 0) {
		for (int i = 0; i < 3; i++)
			printf("sysinfo load %d\t%lu\n", i, s.loads[i]);
		number("sysinfo", "total", s.totalram);
		number("sysinfo", "free", s.freeram);
		number("sysinfo", "shared", s.sharedram);
		number("sysinfo", "buffers", s.bufferram);
		number("sysinfo", "swap", s.totalswap);
		number("sysinfo", "swap free", s.freeswap);
		number("sysinfo", "processes", s.procs);
		number("sysinfo", "high", s.totalhigh);
		number("sysinfo", "high free", s.freehigh);
	}
	if (uname(&u) == 0)
		printf("uname\t%s %s %s %s %s %s\n", u.sysname, u.nodename, u.release, u.version, u.machine, u.domainname);
	printf("identity\t%d %d %d %d %d %d %d %d %d\n", getpid(), getppid(), getsid(0), getpgrp(), gettid(), getuid() > 0, getgid() > 0, geteuid() == getuid(), getgroups(0, NULL));
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (getrlimit(i, &limit) == 0)
			printf("limit %d\t%llx %llx\n", i, (ull)limit.rlim_cur, (ull)limit.rlim_max);
	if (getrusage(RUSAGE_CHILDREN, &r) == 0)
		printf("usage of children\t%ld %ld\n", r.ru_maxrss, r.ru_nswap);
	times(&t);
	for (int clock = 0; clock < 16; clock++)
		if (clock_getres(clock, &resolution) == 0)
			printf("clock %d\t%ld.%09ld\n", clock, resolution.tv_sec, resolution.tv_nsec);
	if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) == 0)
		printf("scheduling\t%u %llu %d %u %llu %llu %llu %u %u\n", a.policy, (ull)a.flags, a.nice, a.priority, (ull)a.runtime, (ull)a.deadline, (ull)a.period, a.low, a.high);
	for (int who = 0; who < 3; who++)
		printf("priority %d\t%d\n", who, getpriority(who, 0));
	sched_rr_get_interval(0, &resolution);
	printf("slice\t%ld.%09ld\n", resolution.tv_sec, resolution.tv_nsec);
	static const int options[] = {PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_GET_SECCOMP, PR_GET_SECUREBITS, PR_GET_TIMERSLACK, PR_GET_CHILD_SUBREAPER, PR_GET_NO_NEW_PRIVS, PR_GET_THP_DISABLE};
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		printf("prctl %d\t%d\n", options[i], prctl(options[i], 0, 0, 0, 0));
	for (int i = 0; i < 64; i++)
		if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) > 0)
			printf("capability %d\tbounding\n", i);
	for (int i = 1; i < 65; i++) {
		struct sigaction action;
		if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
			printf("signal %d\tchanged\n", i);
	}
	mode_t mask = umask(0);
	umask(mask);
	number("umask", "", mask);
	cpu_set_t cpus;
	if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
		number("affinity", "", cpus.__bits[0]);
	int mode = -1;
	unsigned long nodes[16] = {0};
	syscall(SYS_get_mempolicy, &mode, nodes, 1024, NULL, 0);
	printf("memory policy\t%d %lx\n", mode, nodes[0]);
	printf("stdin\t%lld %x\n", (long long)lseek(0, 0, SEEK_CUR), fcntl(0, F_GETFL));
	number("stdin", "seals", fcntl(0, F_GET_SEALS));
}

static void look(void)
{
	static char big[1 << 16];
	setvbuf(stdout, big, _IOFBF, sizeof big);
	/* Map and read the input, so that its pages are in numa_maps. */
	struct stat st;
	volatile char *input = fstat(0, &st) == 0 && st.st_size > 0 ? mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, 0, 0) : MAP_FAILED;
	for (off_t i = 0; input != MAP_FAILED && i < st.st_size; i += 4096)
		(void)input[i];
	visit("/", look_at);
	visit("/proc/self", look_at);
	visit("/proc/thread-self", look_at);
	/* /proc/self/net is a link. */
	char net[64];
	snprintf(net, sizeof net, "/proc/%d/net", getpid());
	visit_names(net, look_at);
	/* Before the first child of its own, whose memory depends on what the host has cached. */
	look_at_answers();
	look_at_objects();
	fflush(stdout);
}

static void change_file(const char *path, const char *name, const struct stat *st)
{
	static char buffer[1 << 16];
	static const struct timespec past[2] = {{1000000000, 1}, {1000000000, 2}};
	(void)name;
	utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
	utimensat(AT_FDCWD, path, past, AT_SYMLINK_NOFOLLOW);
	chmod(path, st->st_mode ^ 1);
	lchown(path, getuid(), getgid());
	setxattr(path, "user.mark", "1", 1, 0);
	access(path, R_OK);
	readlink(path, buffer, sizeof buffer);
	if (!S_ISREG(st->st_mode) && !S_ISCHR(st->st_mode))
		return;
	static const int ways[] = {O_RDONLY, O_RDWR, O_WRONLY};
	for (int i = 0; i < 3; i++) {
		/* Fails for the run's own output, which only root may open: it would grow. */
		int fd = open(path, ways[i] | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0)
			continue;
		futimens(fd, NULL);
		futimens(fd, past);
		fchmod(fd, st->st_mode ^ 1);
		fsetxattr(fd, "user.mark", "1", 1, 0);
		struct flock lock = {.l_type = F_RDLCK};
		fcntl(fd, F_SETLK, &lock);
		fcntl(fd, F_OFD_SETLK, &lock);
		fcntl(fd, F_SETLEASE, F_RDLCK);
		fcntl(fd, F_ADD_SEALS, 0xf);
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NOATIME);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		for (int rounds = 0; ways[i] != O_WRONLY && rounds < 16 && read(fd, buffer, sizeof buffer) > 0; rounds++)
			;
		if (ways[i] != O_RDONLY)
			(void)!write(fd, "1000", 4);
		if (ways[i] == O_RDONLY && S_ISREG(st->st_mode)) {
			char *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
			static const int advice[] = {MADV_POPULATE_READ, MADV_COLD, MADV_PAGEOUT, 25 /* MADV_COLLAPSE */, MADV_HUGEPAGE, MADV_MERGEABLE};
			for (size_t k = 0; at != MAP_FAILED && k < sizeof advice / sizeof *advice; k++)
				madvise(at, 4096, advice[k]);
			if (at != MAP_FAILED)
				mlock(at, 4096);
		}
		close(fd);
	}
}

static const char zeros[4096];

static void change_numbers(int hold)
{
	int pair[2];
	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			setsid();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		for (int k = 0; k < 8; k++) {
			int fds[] = {-1, -1, memfd_create("m", 0), epoll_create1(0), eventfd(0, 0), timerfd_create(CLOCK_MONOTONIC, 0), -1, -1};
			if (pipe(pair) == 0)
				fds[0] = pair[0], fds[1] = pair[1];
			if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)
				fds[6] = pair[0], fds[7] = pair[1];
			(void)!write(fds[6], zeros, 4096);
			for (size_t n = 0; n < sizeof fds / sizeof *fds; n++)
				if (!(hold && i < 4))
					close(fds[n]);
		}
	}
}

static void change(int hold)
{
	struct sched_param none = {0};
	struct itimerval timer = {{0, 1000}, {0, 1000}};
	visit("/", change_file);
	visit("/proc/self", change_file);
	for (int fd = 0; fd < 3; fd++) {
		char path[64];
		struct stat st = {.st_mode = S_IFREG | 0444};
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		if (fd == 0)
			change_file(path, path, &st);
		futimens(fd, NULL);
		fchmod(fd, 0777);
	}
	char part[512]; /* every page is read several times */
	while (read(0, part, sizeof part) > 0)
		;
	change_numbers(hold);
	for (int policy = 0; policy < 7; policy++)
		sched_setscheduler(0, policy, &none);
	for (int who = 0; who < 3; who++) {
		setpriority(who, 0, 5);
		syscall(SYS_ioprio_set, who + 1, 0, 3 << 13);
	}
	for (int option = 1; option < 80; option++)
		prctl(option, 1, 0, 0, 0);
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof one, &one);
	signal(SIGALRM, SIG_IGN);
	setitimer(ITIMER_REAL, &timer, NULL);
	umask(0777);
	mkdir("/box/tmp/folder", 0777);
	for (int i = 0; i < 100; i++) {
		char path[64];
		snprintf(path, sizeof path, "/box/tmp/file%d", i);
		close(open(path, O_CREAT | O_RDWR, 0666));
	}
	char *memory = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		memset(memory, 1, 64 << 20);
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (i != RLIMIT_AS && i != RLIMIT_DATA && i != RLIMIT_NOFILE && i != RLIMIT_NPROC && i != RLIMIT_CPU && i != RLIMIT_FSIZE)
			setrlimit(i, &(struct rlimit){1000, 1000});
	pid_t pid = fork();
	for (volatile unsigned n = 0; n < 100u * 1000 * 1000; n++)
		;
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	printf("changed\tall\n");
	fflush(stdout);
	if (hold)
		pause();
}

int main(int argc, char **argv)
{
	/* Without ASLR addresses are the same in every run, so that /proc can be compared. */
	if (argc == 2) {
		personality(ADDR_NO_RANDOMIZE);
		execl("/proc/self/exe", argv[0], argv[1], "again", (char *)NULL);
		return 1;
	}
	if (strcmp(argv[1], "look") == 0)
		look();
	else
		change(strcmp(argv[1], "hold") == 0);
	return 0;
}
