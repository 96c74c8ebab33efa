/* Leaves a mark in what a shared file carries besides its content: access
 * time (reading sets it), times set by hand, extended attributes, mode,
 * project. What must stop it: read-only mounts, through which reading sets no
 * time either; no extended attributes by seccomp. */
#include "attack.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#define FILES 6

/* Nobody else reads the first three. The next two are there as copies too. The
 * last is one that everybody may write, and so set its times. */
static const char *files[FILES] = {"/usr/share/doc/base-files/FAQ", "/usr/share/doc/libc6/copyright", "/usr/share/base-files/profile", "/etc/ld.so.cache"};
static const char *const folders[] = {"/usr/local/games", "/usr/local/src", "/usr/share/doc/base-files", "/usr/games", "/etc/alternatives"};

static void send(void)
{
	char byte;
	for (int i = 0; i < FILES; i++) {
		int fd = open(files[i], O_RDONLY);
		if (fd < 0)
			continue;
		if (read(fd, &byte, 1) != 1)
			printf("read: %s\n", strerror(errno));
		/* To now is what the group may do that may write. */
		if (futimens(fd, NULL) == 0 || utimensat(AT_FDCWD, files[i], NULL, 0) == 0)
			broke("the times of %s can be set", files[i]);
		if (setxattr(files[i], "user.judged-attack", "42", 2, 0) == 0 || fsetxattr(fd, "user.judged-attack", "42", 2, 0) == 0)
			broke("%s got an attribute", files[i]);
		close(fd);
	}
	for (int i = 0; i < 5; i++) {
		DIR *d = opendir(folders[i]);
		while (d && readdir(d))
			;
		if (d)
			closedir(d);
	}
	refused(setxattr("/box/work", "user.judged-attack", "42", 2, 0), "setxattr on its own folder");
	held("read %d files and five folders", FILES);
}

int main(int argc, char **argv)
{
	struct stat info;
	char value[8];
	int recent = 0;
	if (argc < 3)
		return 1;
	files[FILES - 2] = host_file();
	files[FILES - 1] = argv[1];
	if (strcmp(argv[2], "send") == 0)
		send();
	for (int i = 0; i < FILES + 5; i++) {
		const char *path = i < FILES ? files[i] : folders[i - FILES];
		if (stat(path, &info) == 0 && time(NULL) - info.st_atime < 4)
			recent++;
		if (getxattr(path, "user.judged-attack", value, sizeof value) > 0)
			broke("%s carries an attribute", path);
	}
	if (recent > 1) /* one may be somebody of the host */
		broke("%d of the files were read within the last seconds", recent);
	held("no mark");
}
