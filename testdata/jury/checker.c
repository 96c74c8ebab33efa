// A checker that does what its arguments say, one after the other, whatever its protocol: the arguments of all three
// protocols are three. Where it is to be stopped by something it is accepted if it is not.
//
//	judge=TEXT team=TEXT error=TEXT score=TEXT multiplier=TEXT
//	                                   write a file of the feedback folder of icpc
//	out=TEXT err=TEXT                  write to stdout, to stderr
//	cat=PATH                           copy a file to stderr; - is stdin
//	tokens                             compare the output with the answer: exit 42 or 43
//	exit=N kill=N                      end
//	spin sleep eat flood               never end, take all memory, write to stdout without end
//	fill many large                    fill the feedback folder: with bytes, with files, with one file
//	link=TARGET pipe                   make judgemessage.txt a link, a named pipe
//	look                               list what there is besides what belongs there
//	orphan                             leave a child behind that holds all descriptors
//	next=N                             ask for another pass, which reads the output of this one, until there were N
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *feedback;

static FILE *open_feedback(const char *name)
{
	char path[4096];
	snprintf(path, sizeof path, "%s%s", feedback, name);
	return fopen(path, "w");
}

static void put(const char *name, const char *text)
{
	FILE *f = open_feedback(name);
	if (!f)
		exit(90);
	fputs(text, f);
	fclose(f);
}

static void cat(const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "r") : stdin;
	char buf[4096];
	size_t n;
	if (!f) {
		fprintf(stderr, "no %s\n", path);
		return;
	}
	while ((n = fread(buf, 1, sizeof buf, f)) > 0)
		fwrite(buf, 1, n, stderr);
}

// next makes the output of a pass the input of the next one.
static void next(int passes)
{
	char path[4096], block[4096];
	size_t n;
	snprintf(path, sizeof path, "%spasses", feedback);
	FILE *count = fopen(path, "a");
	if (!count || fputc('x', count) == EOF)
		exit(90);
	long number = ftell(count);
	fclose(count);
	if (number >= passes)
		return;
	FILE *f = open_feedback("nextpass.in");
	while (f && (n = fread(block, 1, sizeof block, stdin)) > 0)
		fwrite(block, 1, n, f);
	if (!f || fclose(f))
		exit(90);
}

static int same(const char *a, const char *b)
{
	FILE *f = fopen(a, "r"), *g = fopen(b, "r");
	char x[256], y[256];
	if (!f || !g)
		exit(91);
	for (;;) {
		int m = fscanf(f, "%255s", x), n = fscanf(g, "%255s", y);
		if (m != n || (m == 1 && strcmp(x, y)))
			return 0;
		if (m != 1)
			return 1;
	}
}

static void fill(int files)
{
	static char block[1 << 16];
	for (int i = 0; i < 1 << 20; i++) {
		char name[32];
		snprintf(name, sizeof name, "f%d", i);
		FILE *f = open_feedback(name);
		if (!f)
			return;
		size_t n = files ? 1 : fwrite(block, 1, sizeof block, f);
		if (fclose(f) || n == 0)
			return;
	}
}

// look names all files of the box but the three, and tries to change what it was given.
static void look(char **argv)
{
	static const char *const folders[] = {"/box", "/box/work", "/box/feedback", "/box/tmp"};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		DIR *d = opendir(folders[i]);
		struct dirent *e;
		while (d && (e = readdir(d)))
			if (e->d_name[0] != '.')
				fprintf(stderr, "%s/%s\n", folders[i], e->d_name);
	}
	for (int i = 1; i < 3; i++)
		if (open(argv[i], O_WRONLY) >= 0 || truncate(argv[i], 0) == 0 || unlink(argv[i]) == 0)
			fprintf(stderr, "changed %s\n", argv[i]);
	for (int fd = 3; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0 && write(fd, "x", 1) == 1)
			fprintf(stderr, "wrote to %d\n", fd);
}

int main(int argc, char **argv)
{
	feedback = argv[3];
	for (int i = 4; i < argc; i++) {
		char *verb = argv[i], *value = strchr(verb, '=');
		if (value)
			*value++ = 0;
		fflush(stdout);
		if (!strcmp(verb, "judge"))
			put("judgemessage.txt", value);
		else if (!strcmp(verb, "team"))
			put("teammessage.txt", value);
		else if (!strcmp(verb, "error"))
			put("judgeerror.txt", value);
		else if (!strcmp(verb, "score"))
			put("score.txt", value);
		else if (!strcmp(verb, "multiplier"))
			put("score_multiplier.txt", value);
		else if (!strcmp(verb, "out"))
			printf("%s\n", value);
		else if (!strcmp(verb, "err"))
			fprintf(stderr, "%s\n", value);
		else if (!strcmp(verb, "cat"))
			cat(value);
		else if (!strcmp(verb, "tokens"))
			exit(same("/dev/stdin", argv[2]) ? 42 : 43);
		else if (!strcmp(verb, "next"))
			next(atoi(value));
		else if (!strcmp(verb, "exit"))
			exit(atoi(value));
		else if (!strcmp(verb, "kill"))
			kill(getpid(), atoi(value));
		else if (!strcmp(verb, "spin"))
			for (volatile int x = 0;; x++)
				;
		else if (!strcmp(verb, "sleep"))
			pause();
		else if (!strcmp(verb, "eat"))
			for (char *p; (p = malloc(1 << 20));)
				memset(p, 1, 1 << 20);
		else if (!strcmp(verb, "flood"))
			while (puts("endless output") >= 0)
				;
		else if (!strcmp(verb, "fill"))
			fill(0);
		else if (!strcmp(verb, "many"))
			fill(1);
		else if (!strcmp(verb, "large")) {
			static char block[1 << 16];
			FILE *f = open_feedback("judgemessage.txt");
			while (fwrite(block, 1, sizeof block, f) > 0)
				;
		} else if (!strcmp(verb, "link") || !strcmp(verb, "pipe")) {
			char path[4096];
			snprintf(path, sizeof path, "%sjudgemessage.txt", feedback);
			if (value ? symlink(value, path) : mkfifo(path, 0666))
				exit(92);
		} else if (!strcmp(verb, "look"))
			look(argv);
		else if (!strcmp(verb, "orphan")) {
			if (fork() == 0) {
				pause();
				exit(0);
			}
		} else
			exit(93);
	}
	return 0;
}
