/* Copies the file "in" to the file "out" in the way that the argument selects, and prints what it sees of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CREATE = O_CREAT | O_WRONLY };

/* Copies what is left of a file to another one. */
static void copy(int from, int to)
{
	char buf[4096];
	ssize_t n;
	while ((n = read(from, buf, sizeof buf)) > 0)
		if (write(to, buf, n) != n)
			exit(2);
	if (n < 0 || close(from) < 0 || close(to) < 0)
		exit(3);
}

static void put(const char *name, int flags, const char *text)
{
	int fd = open(name, flags, 0666);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd) < 0)
		exit(4);
}

static void plain(void) { copy(open("in", O_RDONLY), open("out", CREATE, 0666)); }

/* Prints a result, or the name of the error. */
static void say(const char *what, long result) { printf("%s %s\n", what, result < 0 ? strerrorname_np(errno) : "ok"); }

static void show(const char *name)
{
	struct stat followed, s;
	if (stat(name, &followed) < 0 || lstat(name, &s) < 0)
		printf("%s %s\n", name, strerrorname_np(errno));
	else
		printf("%s %s of %ld, %ld\n", name, S_ISREG(s.st_mode) ? "file" : S_ISLNK(s.st_mode) ? "link" : "other",
		       (long)followed.st_size, (long)followed.st_nlink);
}

/* Resolves all links in a name, as PHP does before it opens a file. */
static const char *resolved(const char *name)
{
	static char path[PATH_MAX];
	if (realpath(name, path) == NULL)
		printf("%s ", strerrorname_np(errno));
	puts(path);
	return path;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	char text[4] = "", *map;
	int fd, folder;
	if (strcmp(way, "absolute") == 0) {
		copy(open("/box/work/in", O_RDONLY), open("/box/work/out", CREATE, 0666));
	} else if (strcmp(way, "resolved") == 0) {
		fd = open(resolved("in"), O_RDONLY | O_NOFOLLOW);
		put("out", CREATE, "");
		copy(fd, open(resolved("out"), O_WRONLY | O_NOFOLLOW));
	} else if (strcmp(way, "stat") == 0) {
		show("in");
		show("out");
		plain();
		show("out");
	} else if (strcmp(way, "twice") == 0) {
		if (read(open("in", O_RDONLY), text, 2) != 2)
			return 1;
		put("out", CREATE, "x");
		plain();
	} else if (strcmp(way, "both") == 0) {
		fd = open("out", O_CREAT | O_RDWR, 0666);
		copy(open("in", O_RDONLY), dup(fd));
		say("read", pread(fd, text, sizeof text, 0) - (long)sizeof text);
	} else if (strcmp(way, "truncate") == 0) {
		put("out", CREATE, "a longer text");
		copy(open("in", O_RDONLY), open("out", O_WRONLY | O_TRUNC));
	} else if (strcmp(way, "append") == 0) {
		put("out", CREATE | O_APPEND, "a");
		copy(open("in", O_RDONLY), open("out", O_WRONLY | O_APPEND));
	} else if (strcmp(way, "exclusive") == 0) {
		copy(open("in", O_RDONLY), open("out", CREATE | O_EXCL, 0666));
	} else if (strcmp(way, "stdio") == 0) {
		FILE *in = fopen("in", "r"), *out = fopen("out", "w");
		while (in != NULL && out != NULL && (fd = getc(in)) != EOF)
			putc(fd, out);
		return fclose(out) != 0;
	} else if (strcmp(way, "freopen") == 0) {
		if (freopen("in", "r", stdin) == NULL || freopen("out", "w", stdout) == NULL)
			return 1;
		while ((fd = getchar()) != EOF)
			putchar(fd);
	} else if (strcmp(way, "rename") == 0) {
		put("out", CREATE, "x");
		copy(open("in", O_RDONLY), open("draft", CREATE, 0666));
		say("rename", rename("draft", "out"));
	} else if (strcmp(way, "again") == 0) {
		put("out", CREATE, "a longer text");
		say("unlink", unlink("out"));
		plain();
	} else if (strcmp(way, "hardlink") == 0) {
		copy(open("in", O_RDONLY), open("draft", CREATE, 0666));
		say("link", link("draft", "out"));
	} else if (strcmp(way, "child") == 0) {
		if (fork() == 0) {
			close_range(3, ~0U, 0);
			execl("./named", "named", "absolute", NULL);
		}
		say("wait", wait(&fd) < 0 || fd != 0 ? -1 : 0);
	} else if (strcmp(way, "chdir") == 0) {
		folder = open(".", O_PATH);
		say("chdir", chdir("/tmp"));
		copy(open("../work/in", O_RDONLY), openat(folder, "out", CREATE, 0666));
	} else if (strcmp(way, "mapped") == 0) {
		fd = open("out", O_CREAT | O_RDWR, 0666);
		if (ftruncate(fd, 4) < 0)
			return 1;
		map = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		memcpy(map, mmap(NULL, 4, PROT_READ, MAP_SHARED, open("in", O_RDONLY), 0), 4);
	} else if (strcmp(way, "change") == 0) {
		say("open", open("in", O_RDWR));
		say("chmod", chmod("in", 0666));
		say("unlink", unlink("in"));
		put("draft", CREATE, "x");
		say("rename", rename("draft", "in"));
		say("link", link("in", "other"));
		plain();
	} else if (strcmp(way, "none") != 0) {
		return 1;
	}
	return 0;
}
