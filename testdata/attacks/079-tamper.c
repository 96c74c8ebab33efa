/* Changes what other runs see: makes, opens for writing, renames, links and
 * touches files in every folder but its own. Each change would put things back
 * as they were. What must stop it: everything but the box is read-only, and
 * belongs to root. */
#include "attack.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

static const char *const folders[] = {"/", "/box", "/files", "/usr", "/usr/bin", "/usr/lib", "/usr/local/lib", "/usr/local/bin", "/bin", "/lib", "/lib64",
	"/sbin", "/dev", "/etc", "/etc/alternatives", "/proc", "/proc/self", "/var", "/run"};
static const char *const files[] = {"/usr/bin/env", "/bin/sh", "/lib64/ld-linux-x86-64.so.2", "/etc/passwd", "/etc/ld.so.cache", "/usr/lib/os-release"};

static void tamper(const char *file)
{
	struct stat info;
	if (stat(file, &info) < 0)
		return;
	if (open(file, O_WRONLY | O_APPEND) >= 0)
		broke("%s can be written", file);
	if (chmod(file, info.st_mode & 07777) == 0 || chown(file, -1, info.st_gid) == 0)
		broke("mode or group of %s can be set", file);
	if (truncate(file, info.st_size) == 0)
		broke("size of %s can be set", file);
	if (rename(file, file) == 0)
		broke("%s can be renamed", file);
	if (link(file, "linked") == 0)
		broke("%s can be linked into the work folder", file);
}

int main(void)
{
	char path[512];
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "%s/judged-attack-079", folders[i]);
		if (open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0 && unlink(path) == 0)
			broke("made a file in %s", folders[i]);
		if (mkdir(path, 0700) == 0 && rmdir(path) == 0)
			broke("made a folder in %s", folders[i]);
		if (symlink("x", path) == 0 && unlink(path) == 0)
			broke("made a link in %s", folders[i]);
		if (open(folders[i], O_TMPFILE | O_WRONLY, 0600) >= 0)
			broke("made a file without a name in %s", folders[i]);
		if (access(folders[i], W_OK) == 0)
			broke("%s says that it can be written", folders[i]);
	}
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		tamper(files[i]);
	/* The copies of the program and of the files of the job, which other runs have, too. */
	DIR *copies = opendir("/files");
	for (struct dirent *e; copies && (e = readdir(copies));) {
		snprintf(path, sizeof path, "/files/%s", e->d_name);
		if (e->d_name[0] != '.')
			tamper(path);
	}
	held("nothing outside the box can be changed");
}
