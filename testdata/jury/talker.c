// One side of a conversation, the contestant's program or the interactor. It does what its arguments say, one after the
// other; those of an interactor follow the three of its protocol.
//
//	say=TEXT hear          write a line; read one, whatever it is, or its absence
//	end                    read until the end of the input
//	ping=N pong=N          N round trips of one line, from the side that asks and from the one that answers
//	flood drink sip gulp   write, read without end; sip sleeps for 1 ms after 512 bytes, gulp for 0.3 s after 4096
//	much=N                 write N bytes; otherwise exit with status 95
//	close=FD               close a descriptor
//	reopen=FD              replace a stream by what /dev/stdin, /dev/stdout, or /dev/stderr opens
//	judge=TEXT tout=TEXT   write judgemessage.txt of icpc, the output file of testlib
//	exit=N kill=N          end
//	spin sleep             never end
//	work=N                 compute until the process has used N ms of CPU time
//	rest                   sleep for 0.1 s: the kernel closes the files of a process shortly before it reports its end
//	orphan                 leave a child behind that holds all descriptors
//	deaf                   ignore SIGPIPE
//	I:VERB                 VERB, in the instance that has the number I as its last argument
//	note=TEXT              write to stderr
//	look=PATH              write to stderr whether it can be opened
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char line[1 << 16];

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	if (!f)
		exit(90);
	fputs(text, f);
	fclose(f);
}

static void say(const char *text)
{
	size_t n = (size_t)snprintf(line, sizeof line, "%s\n", text);
	if (write(1, line, n) < 0)
		return;
}

static int hear(void)
{
	size_t n = 0;
	while (n < sizeof line && read(0, line + n, 1) == 1)
		if (line[n++] == '\n')
			return 1;
	return 0;
}

static void much(long n)
{
	ssize_t got;
	for (; n > 0; n -= got)
		if ((got = write(1, line, n < (long)sizeof line ? (size_t)n : sizeof line)) <= 0)
			exit(95);
}

static void reopen(int fd)
{
	static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
	int other = open(names[fd], fd ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0666);
	if (other < 0 || dup2(other, fd) != fd || close(other))
		exit(94);
}

// hear_at_once reads a line that was written in one piece.
static int hear_at_once(void) { return read(0, line, sizeof line) > 0; }

int main(int argc, char **argv)
{
	const char *index = argv[argc - 1];
	int begin = argc > 3 && !strncmp(argv[1], "/box/", 5) ? 4 : 1;
	for (int i = begin; i < argc; i++) {
		char *verb = argv[i], *value;
		if (verb == index && strlen(verb) == 1)
			break;
		if (verb[1] == ':') {
			if (verb[0] != index[0])
				continue;
			verb += 2;
		}
		value = strchr(verb, '=');
		if (value)
			*value++ = 0;
		if (!strcmp(verb, "say"))
			say(value);
		else if (!strcmp(verb, "hear"))
			hear();
		else if (!strcmp(verb, "end"))
			while (read(0, line, sizeof line) > 0)
				;
		else if (!strcmp(verb, "ping"))
			for (int n = atoi(value); n-- && write(1, "12345\n", 6) == 6 && hear_at_once();)
				;
		else if (!strcmp(verb, "pong"))
			for (int n = atoi(value); n-- && hear_at_once() && write(1, "54321\n", 6) == 6;)
				;
		else if (!strcmp(verb, "flood"))
			while (write(1, line, sizeof line) > 0)
				;
		else if (!strcmp(verb, "much"))
			much(atol(value));
		else if (!strcmp(verb, "drink"))
			while (read(0, line, 1) > 0)
				;
		else if (!strcmp(verb, "sip"))
			while (read(0, line, 512) > 0)
				usleep(1000);
		else if (!strcmp(verb, "gulp"))
			while (read(0, line, 4096) > 0)
				usleep(300000);
		else if (!strcmp(verb, "close"))
			close(atoi(value));
		else if (!strcmp(verb, "reopen"))
			reopen(atoi(value));
		else if (!strcmp(verb, "judge"))
			put("/box/feedback/judgemessage.txt", value);
		else if (!strcmp(verb, "tout"))
			put(argv[2], value);
		else if (!strcmp(verb, "exit"))
			exit(atoi(value));
		else if (!strcmp(verb, "kill"))
			kill(getpid(), atoi(value));
		else if (!strcmp(verb, "work"))
			while (clock() / (CLOCKS_PER_SEC / 1000) < atoi(value))
				for (volatile int x = 0; x < 100000; x++)
					;
		else if (!strcmp(verb, "spin"))
			for (volatile int x = 0;; x++)
				;
		else if (!strcmp(verb, "sleep"))
			sleep(100);
		else if (!strcmp(verb, "rest"))
			usleep(100000);
		else if (!strcmp(verb, "orphan")) {
			if (fork() == 0) {
				pause();
				exit(0);
			}
		} else if (!strcmp(verb, "deaf"))
			signal(SIGPIPE, SIG_IGN);
		else if (!strcmp(verb, "note"))
			fprintf(stderr, "%s\n", value);
		else if (!strcmp(verb, "look"))
			fprintf(stderr, "%s %s\n", access(value, F_OK) ? "no" : "found", value);
		else
			exit(93);
	}
	return 0;
}
