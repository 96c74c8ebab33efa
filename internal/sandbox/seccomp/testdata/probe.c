// Makes one system call and exits with its errno, or 0.
//   probe call NUMBER [ARG...]   by the native entry
//   probe int80 NUMBER           by the i386 entry of amd64
//   probe work                   threads, children, memory and pipes of libc
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *thread(void *arg) {
	int *n = malloc(1 << 20);
	memset(n, 1, 1 << 20);
	*n = 20 + *(int *)arg;
	return n;
}

static int work(void) {
	pthread_t t[4];
	int in[4], sum = 0, ends[2], status;
	for (int i = 0; i < 4; i++) {
		in[i] = i;
		if ((errno = pthread_create(&t[i], NULL, thread, &in[i])))
			return errno;
	}
	for (int i = 0; i < 4; i++) {
		void *n;
		pthread_join(t[i], &n);
		sum += *(int *)n;
		free(n);
	}
	if (pipe(ends) < 0)
		return errno;
	pid_t pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(write(ends[1], "x", 1) == 1 ? 7 : 8);
	char c;
	if (read(ends[0], &c, 1) != 1 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		return errno ? errno : 100;
	FILE *p = popen("echo child", "r"); // posix_spawn: clone3, then clone
	char line[16] = "";
	if (p == NULL || fgets(line, sizeof line, p) == NULL || pclose(p) != 0)
		return errno ? errno : 101;
	printf("%d %s", sum, line);
	return 0;
}

int main(int argc, char **argv) {
	long a[7] = {0};
	for (int i = 2; i < argc && i < 9; i++)
		a[i - 2] = strtoul(argv[i], NULL, 0);
	if (argc > 1 && strcmp(argv[1], "work") == 0)
		return work();
#ifdef __x86_64__
	if (argc > 2 && strcmp(argv[1], "int80") == 0) {
		long r;
		__asm__ volatile("int $0x80" : "=a"(r) : "a"(a[0]) : "memory", "r8", "r9", "r10", "r11");
		return r < 0 ? -r : 0;
	}
#endif
	if (argc > 2 && strcmp(argv[1], "call") == 0)
		return syscall(a[0], a[1], a[2], a[3], a[4], a[5], a[6]) == -1 ? errno : 0;
	return 255;
}
