/* Executes itself again by every way: a copy, a memfd, execveat, a shell, a
 * script, the loader. That is allowed; what must hold is that no way leads to
 * fewer bounds: capabilities, no_new_privs, the filter, user and limits. */
#include "attack.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static char copy[1 << 21];
static ssize_t length;

static void inside(void)
{
	char line[256];
	unsigned long long caps = 1;
	int privileges = 0, filters = 0, mode = 0;
	struct rlimit files;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f)) {
		sscanf(line, "CapEff: %llx", &caps);
		sscanf(line, "NoNewPrivs: %d", &privileges);
		sscanf(line, "Seccomp: %d", &mode);
		sscanf(line, "Seccomp_filters: %d", &filters);
	}
	getrlimit(RLIMIT_CORE, &files);
	if (caps || !privileges || mode != 2 || filters != 1 || files.rlim_max != 1)
		broke("caps %llx, no_new_privs %d, seccomp %d, core %llu", caps, privileges, mode, (unsigned long long)files.rlim_max);
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		broke("a socket");
	_exit(0);
}

static void by_copy(void) { execl("./again", "again", "inside", NULL); }
static void by_shell(void) { execl("/bin/sh", "sh", "-c", "exec ./again inside", NULL); }
static void by_env(void) { execl("/usr/bin/env", "env", "-i", "./again", "inside", NULL); }
static void by_script(void) { execl("./script", "script", NULL); }
static void by_proc(void) { execl("/proc/self/exe", "exe", "inside", NULL); }
static void by_memfd(void)
{
	char *const args[] = {"again", "inside", NULL};
	int fd = memfd_create("again", 0);
	if (write(fd, copy, length) == length)
		syscall(SYS_execveat, fd, "", args, environ, AT_EMPTY_PATH);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		inside();
	length = read(open("/proc/self/exe", O_RDONLY), copy, sizeof copy);
	int out = open("again", O_CREAT | O_WRONLY, 0755), script = open("script", O_CREAT | O_WRONLY, 0755);
	if (write(out, copy, length) != length || dprintf(script, "#!/box/work/again inside\n") < 0)
		return 1;
	close(out);
	close(script);
	apart(by_copy, "copy");
	apart(by_shell, "shell");
	apart(by_env, "env");
	apart(by_script, "script");
	apart(by_proc, "/proc/self/exe");
	apart(by_memfd, "memfd");
	(void)argv;
	held("the same bounds after every execve");
}
