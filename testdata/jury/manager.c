// A manager of CMS. Its first arguments are the paths of two named pipes of each instance, from it and to it. Then it
// does what the further ones say, one after the other. It opens the pipes of an instance when it first needs them.
//
//	say=I:TEXT hear=I      write a line to an instance; read one, whatever it is, or its absence
//	want=I:TEXT            read a line; without that one the score is 0
//	all                    open the pipes of all instances
//	end=I drink=I flood=I  read until the end; read one byte at a time until then; write without end
//	much=I:N               write N bytes; otherwise exit with status 95
//	close=I                close both pipes
//	input=TEXT             compare the input of the test; otherwise exit with status 91
//	score=X err=TEXT       write to stdout; to stderr
//	exit=N kill=N          end
//	spin sleep             never end
//	work=N                 compute until the process has used N ms of CPU time
//	deaf                   ignore SIGPIPE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16 };

static char **paths, line[1 << 16];
static int in[MOST], out[MOST], count;

// It opens the reading end first, which in CMS waits for ever.
static void reach(int i)
{
	if (i < 0 || i >= count)
		exit(92);
	if (in[i])
		return;
	in[i] = open(paths[2 * i], O_RDONLY);
	out[i] = open(paths[2 * i + 1], O_WRONLY);
	if (in[i] < 0 || out[i] < 0)
		exit(90);
}

static size_t hear(int i)
{
	size_t n = 0;
	while (n < sizeof line - 1 && read(in[i], line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = 0;
	return n;
}

static void much(int i, long n)
{
	ssize_t got;
	for (; n > 0; n -= got)
		if ((got = write(out[i], line, n < (long)sizeof line ? (size_t)n : sizeof line)) <= 0)
			exit(95);
}

static int same(int fd, const char *text)
{
	ssize_t n = read(fd, line, sizeof line);
	return n == (ssize_t)strlen(text) && !memcmp(line, text, (size_t)n);
}

int main(int argc, char **argv)
{
	paths = argv + 1;
	while (1 + 2 * count < argc && argv[1 + 2 * count][0] == '/')
		count++;
	for (int k = 1 + 2 * count; k < argc; k++) {
		char *verb = argv[k], *value = strchr(verb, '='), *text = 0;
		int i = -1;
		if (value) {
			*value++ = 0;
			i = value[0] - '0';
			text = value + 2;
		}
		if (strstr(" say hear want end drink flood much close ", verb))
			reach(i);
		if (!strcmp(verb, "say")) {
			if (dprintf(out[i], "%s\n", text) < 0)
				continue;
		} else if (!strcmp(verb, "hear"))
			hear(i);
		else if (!strcmp(verb, "want")) {
			hear(i);
			if (strcmp(line, text)) {
				puts("0");
				fprintf(stderr, "instance %d said \"%s\"\n", i, line);
				return 0;
			}
		} else if (!strcmp(verb, "all"))
			for (int j = 0; j < count; j++)
				reach(j);
		else if (!strcmp(verb, "end"))
			while (read(in[i], line, sizeof line) > 0)
				;
		else if (!strcmp(verb, "drink"))
			while (read(in[i], line, 1) > 0)
				;
		else if (!strcmp(verb, "flood"))
			while (write(out[i], line, sizeof line) > 0)
				;
		else if (!strcmp(verb, "much"))
			much(i, atol(text));
		else if (!strcmp(verb, "close")) {
			close(in[i]);
			close(out[i]);
		} else if (!strcmp(verb, "input")) {
			int file = open("input.txt", O_RDONLY);
			if (!same(0, value) || !same(file, value))
				return 91;
		} else if (!strcmp(verb, "score"))
			puts(value);
		else if (!strcmp(verb, "err"))
			fprintf(stderr, "%s\n", value);
		else if (!strcmp(verb, "exit"))
			exit(atoi(value));
		else if (!strcmp(verb, "kill")) {
			fflush(stdout);
			kill(getpid(), atoi(value));
		} else if (!strcmp(verb, "work"))
			while (clock() / (CLOCKS_PER_SEC / 1000) < atoi(value))
				for (volatile int x = 0; x < 100000; x++)
					;
		else if (!strcmp(verb, "spin"))
			for (volatile int x = 0;; x++)
				;
		else if (!strcmp(verb, "sleep"))
			sleep(100);
		else if (!strcmp(verb, "deaf"))
			signal(SIGPIPE, SIG_IGN);
		else
			exit(93);
	}
	return 0;
}
