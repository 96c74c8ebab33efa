/*
 * A member of a group: it joins by writing "0" to each descriptor from 3 on, writes one byte to stdout, waits for EOF on
 * stdin, and then works: spin, touch MIB, or fork N (the exit status is the number of children).
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char byte = '!';
	int n = argc > 2 ? atoi(argv[2]) : 0, made = 0;
	for (int fd = 3; fcntl(fd, F_GETFD) >= 0; fd++)
		if (write(fd, "0", 1) != 1)
			return 111;
	if (argc < 2 || write(1, &byte, 1) != 1 || read(0, &byte, 1) != 0)
		return 112;
	while (strcmp(argv[1], "spin") == 0)
		;
	if (strcmp(argv[1], "touch") == 0) {
		size_t size = (size_t)n << 20;
		volatile char *block = malloc(size);
		for (size_t i = 0; block != NULL && i < size; i += 4096)
			block[i] = 1;
		return block == NULL;
	}
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		if (pid == 0)
			for (;;)
				pause();
		made += pid > 0;
	}
	return made;
}
