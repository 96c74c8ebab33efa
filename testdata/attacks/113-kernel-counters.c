/* Sends 6 bits in a counter of the kernel that no namespace separates: inode
 * numbers of pipes and of /proc, of memfds, cookies of sockets, and the number
 * of all processes ever (inodes of pidfds). The sender takes numbers until the
 * bits are what is to be sent; the next run takes one and reads them. The
 * numbers come in blocks of 1024 for each CPU (get_next_ino, fs/inode.c), so
 * nobody else disturbs them on a CPU of its own. No filter can take the number
 * out of what fstat answers: open in every sandbox on a shared kernel. What is
 * left is that nobody gains by it: a run has nothing to tell the next but what
 * its input was. So both verdicts are allowed. */
#include "attack.h"
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define MESSAGE 0x2d
#define BITS(n) ((n) >> 4 & 0x3f) /* a few numbers that somebody else takes do not matter */

static uint64_t inode(int fd)
{
	struct stat info;
	if (fd < 0 || fstat(fd, &info) < 0)
		return 0;
	close(fd);
	return info.st_ino;
}

static uint64_t by_pipe(void)
{
	int pair[2];
	if (pipe(pair) < 0)
		return 0;
	close(pair[1]);
	return inode(pair[0]);
}

static uint64_t by_memfd(void) { return inode(memfd_create("m", 0)); }

static uint64_t by_cookie(void)
{
	int pair[2];
	uint64_t cookie = 0;
	socklen_t size = sizeof cookie;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return 0;
	getsockopt(pair[0], SOL_SOCKET, SO_COOKIE, &cookie, &size);
	close(pair[0]);
	close(pair[1]);
	return cookie;
}

static uint64_t by_pidfd(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	uint64_t n = inode(syscall(SYS_pidfd_open, pid, 0));
	waitpid(pid, NULL, 0);
	return n;
}

int main(int argc, char **argv)
{
	static const struct { const char *name; uint64_t (*next)(void); int most; } counters[] = {
		{"pipe", by_pipe, 4096}, {"memfd", by_memfd, 4096}, {"cookie", by_cookie, 4096}, {"pidfd", by_pidfd, 1200}};
	int through = 0;
	for (int i = 0; i < 4; i++) {
		uint64_t n = counters[i].next();
		if (argc > 1 && strcmp(argv[1], "send") == 0)
			for (int tries = 0; BITS(n) != MESSAGE && tries < counters[i].most; tries++)
				n = counters[i].next();
		else if (n != 0 && BITS(n) == MESSAGE)
			through++;
		printf("%s: %llu, bits %02llx\n", counters[i].name, (unsigned long long)n, (unsigned long long)BITS(n));
	}
	if (through > 0)
		broke("%d of 4 counters say %02x", through, MESSAGE);
	held("no counter says %02x", MESSAGE);
}
