/* Looks at its bounds before anything else runs in the process: a judge that
 * sets them on a process that has started already leaves a moment without.
 * What must stop it: all is in place before execve; the go byte comes last. */
#include "attack.h"
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

static const char *missing;

static void first(int argc, char **argv, char **env)
{
	struct rlimit limit;
	char self[8];
	(void)argc, (void)argv, (void)env;
	const int limited[] = {RLIMIT_CORE, RLIMIT_FSIZE, RLIMIT_STACK, RLIMIT_NOFILE, RLIMIT_MEMLOCK};
	for (int i = 0; i < 5; i++)
		if (getrlimit(limited[i], &limit) < 0 || limit.rlim_max == RLIM_INFINITY)
			missing = "a resource limit";
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		missing = "no_new_privs";
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		missing = "the filter";
	if (getuid() == 0 || geteuid() == 0 || getgid() == 0)
		missing = "the user";
	if (readlink("/proc/self", self, sizeof self) != 1 || access("/etc/shadow", F_OK) == 0)
		missing = "the namespaces";
	cpu_set_t cpus;
	sched_getaffinity(0, sizeof cpus, &cpus);
	if (CPU_COUNT(&cpus) != 1)
		missing = "the slot's CPU";
}

__attribute__((section(".preinit_array"), used)) static void (*const before_all)(int, char **, char **) = first;

int main(void)
{
	if (missing)
		broke("without %s at first", missing);
	first(0, NULL, NULL);
	held("everything was there from the first instruction on");
}
