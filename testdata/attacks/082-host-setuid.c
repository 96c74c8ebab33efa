/* Runs the set-user-ID and set-group-ID programs of /usr (su, mount, passwd,
 * chage) and asks the loader as whom: with LD_SHOW_AUXV it prints the users and
 * AT_SECURE, unless the program has gained rights, where it ignores the
 * variable. What must stop it: nosuid on /usr; no_new_privs. */
#include "attack.h"
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static int tried;

static void as_whom(const char *path)
{
	int secure = -1, pair[2];
	unsigned user = -1, effective = -1;
	char line[256];
	if (pipe(pair) < 0)
		broke("cannot try: %s", strerror(errno));
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(pair[1], 1);
		close(2);
		setenv("LD_SHOW_AUXV", "1", 1);
		execl(path, path, "--version", NULL);
		_exit(0);
	}
	close(pair[1]);
	FILE *out = fdopen(pair[0], "r");
	while (fgets(line, sizeof line, out) && (secure < 0 || user == -1u || effective == -1u)) {
		sscanf(line, "AT_SECURE: %d", &secure);
		sscanf(line, "AT_UID: %u", &user);
		sscanf(line, "AT_EUID: %u", &effective);
	}
	kill(pid, SIGKILL); /* the loader has said it; what the program does is of no interest */
	waitpid(pid, NULL, 0);
	fclose(out);
	if (secure != 0 || user != effective)
		broke("%s runs with more rights: AT_SECURE %d, user %u as %u", path, secure, user, effective);
	printf("%s: user %u\n", path, effective);
	tried++;
}

int main(void)
{
	static const char *const folders[] = {"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/lib/openssh", "/usr/lib/dbus-1.0", "/usr/libexec"};
	struct statvfs usr;
	if (statvfs("/usr", &usr) == 0 && !(usr.f_flag & ST_NOSUID))
		broke("/usr is mounted without nosuid");
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		DIR *d = opendir(folders[i]);
		for (struct dirent *e; d && (e = readdir(d));) {
			char path[400];
			struct stat info;
			snprintf(path, sizeof path, "%s/%s", folders[i], e->d_name);
			if (lstat(path, &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 06000) && access(path, X_OK) == 0 && tried < 12)
				as_whom(path);
		}
	}
	held("%d programs run as who started them", tried);
}
