/* Opens every file of its own /proc for writing: there are switches for who
 * dies when memory runs out (oom_score_adj), what a core dump holds, timer
 * slack, the autogroup's weight, the peak of memory (clear_refs), its own
 * read-only memory (mem), maps of users. What must stop it: /proc is mounted
 * read-only. */
#include "attack.h"
#include <dirent.h>
#include <fcntl.h>

static int tried;

static void all_of(const char *folder)
{
	char path[512];
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (e->d_type != DT_REG)
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		tried++;
		int fd = open(path, O_WRONLY);
		if (fd < 0)
			fd = open(path, O_RDWR);
		if (fd >= 0)
			broke("%s can be written", path);
	}
	if (d)
		closedir(d);
}

int main(void)
{
	static const char *const named[] = {"oom_score_adj", "oom_adj", "coredump_filter", "timerslack_ns", "autogroup", "clear_refs", "mem",
		"comm", "setgroups", "uid_map", "gid_map", "loginuid", "sched", "attr/exec", "attr/current", "timens_offsets"};
	char path[64];
	all_of("/proc/self");
	all_of("/proc/self/attr");
	all_of("/proc/thread-self");
	for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
		snprintf(path, sizeof path, "/proc/self/%s", named[i]);
		if (open(path, O_WRONLY) >= 0)
			broke("%s can be written", path);
	}
	if (tried < 20)
		broke("cannot try: /proc/self shows %d files", tried);
	held("%d files, none can be written", tried);
}
