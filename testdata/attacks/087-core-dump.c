/* Dumps core with 16 MiB in memory. Where core_pattern is a pipe the host's
 * helper runs as root, on data that the run wrote, and 0 as the limit does not
 * stop that: apport and systemd-coredump had races to root (CVE-2025-4598,
 * CVE-2025-5054). What must stop it: RLIMIT_CORE of 1 byte, which the kernel
 * takes for no dump through a pipe (fs/coredump.c). */
#include "attack.h"
#include <dirent.h>
#include <sys/resource.h>

static char ballast[16 << 20];

int main(void)
{
	struct rlimit core = {RLIM_INFINITY, RLIM_INFINITY};
	refused(setrlimit(RLIMIT_CORE, &core), "setrlimit");
	if (getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max != 1)
		broke("the limit is %llu, not 1", (unsigned long long)core.rlim_max);
	fflush(stdout);
	memset(ballast, 1, sizeof ballast);
	pid_t pid = fork();
	if (pid == 0)
		abort();
	int status;
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		broke("cannot try: status %#x", status);
	if (WCOREDUMP(status))
		broke("the core was dumped");
	DIR *d = opendir(".");
	for (struct dirent *e; d && (e = readdir(d));)
		if (strncmp(e->d_name, "core", 4) == 0)
			broke("there is a %s", e->d_name);
	abort();
}
