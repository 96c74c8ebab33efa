/* Looks at other processes through /proc: process 1 (its environment, memory,
 * descriptors, root), a process of the host, and whatever is listed. runc was
 * escaped through /proc/1/exe (CVE-2019-5736). What must stop it: a /proc of the
 * run's own pid namespace, with hidepid=2. */
#include "attack.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

static const char *const parts[] = {"", "/environ", "/mem", "/maps", "/exe", "/fd", "/root", "/cwd", "/cmdline", "/status", "/stat",
	"/ns/mnt", "/map_files", "/task", "/fdinfo/0", "/auxv", "/root/etc/passwd"};

static void look(const char *process)
{
	char path[128];
	struct stat info;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		snprintf(path, sizeof path, "/proc/%s%s", process, parts[i]);
		if (lstat(path, &info) == 0)
			broke("%s is there", path);
		/* That process 1 exists is no secret, and O_PATH asks for no more. */
		if (i > 0 && open(path, O_PATH | O_NOFOLLOW) >= 0)
			broke("%s can be opened", path);
		snprintf(path, sizeof path, "/proc/self/../%s%s", process, parts[i]);
		if (open(path, O_RDONLY) >= 0)
			broke("%s can be opened", path);
	}
}

int main(int argc, char **argv)
{
	look("1");
	if (argc > 1 && atoi(argv[1]) != getpid())
		look(argv[1]);
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d));)
		if (atoi(e->d_name) > 0 && atoi(e->d_name) != getpid())
			broke("process %s is listed", e->d_name);
	for (int pid = 2; pid < 3000; pid++) {
		char path[32];
		snprintf(path, sizeof path, "/proc/%d/comm", pid);
		if (pid != getpid() && access(path, F_OK) == 0)
			broke("%s is there", path);
	}
	held("only itself");
}
