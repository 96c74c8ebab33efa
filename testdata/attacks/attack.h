/* What every attack says in the end: held, the sandbox stopped it, or broke,
 * it got through. An attack that gets through does nothing with it: a success
 * must harm no host, even with every layer of the sandbox but one taken away. */
#ifndef ATTACK_H
#define ATTACK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BROKE_STATUS 86 /* no libc and no shell uses it */

#ifndef HELD_STATUS /* a checker says that otherwise */
#define HELD_STATUS 0
#endif

__attribute__((format(printf, 1, 2), noreturn, unused)) static void held(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	printf("held: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	fflush(stdout);
	_exit(HELD_STATUS);
}

__attribute__((format(printf, 1, 2), noreturn, unused)) static void broke(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	printf("broke: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	fflush(stdout);
	_exit(BROKE_STATUS);
}

/* refused: a call that must fail did, with an errno that says why. */
__attribute__((unused)) static void refused(long result, const char *call)
{
	if (result >= 0)
		broke("%s returned %ld", call, result);
	printf("%s: %s\n", call, strerror(errno));
}

/* host_file: the path of a program file of the host that runs see: one that needs
 * not start, or where only copies are shown that of its own loader. */
__attribute__((unused)) static const char *host_file(void)
{
	static const char *const files[] = {"/usr/bin/env", "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (access(files[i], R_OK) == 0)
			return files[i];
	return "/etc/passwd";
}

/* apart: makes an attempt in a process of its own, for calls that end the whole
 * process. The attempt says broke if it got through, and otherwise returns. */
__attribute__((unused)) static void apart(void (*attempt)(void), const char *name)
{
	int status;
	fflush(stdout); /* or the child would print it once more */
	pid_t pid = fork();
	if (pid == 0) {
		attempt();
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("%s: not tried: %s\n", name, strerror(errno));
		fflush(stdout);
		_exit(1);
	} else if (WIFSIGNALED(status)) {
		printf("%s: %s\n", name, strsignal(WTERMSIG(status)));
	} else if (WEXITSTATUS(status) == BROKE_STATUS) {
		_exit(BROKE_STATUS);
	}
}

#endif
