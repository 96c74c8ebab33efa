/* Divide the memory among all the places that it can hide in, each far below the
 * limit: heap, stack, a file, a memfd, pipes, shared memory of a child that has
 * exited. What must stop it: one counter for all of them. */
#include "attack.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PIECE (12UL << 20)

static void *map(int flags)
{
	void *block = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		broke("cannot try: mmap: %s", strerror(errno));
	return block;
}

static void fill_file(int fd, const char *heap)
{
	for (size_t at = 0; at < PIECE; at += 1 << 20)
		if (pwrite(fd, heap + at, 1 << 20, (off_t)at) != 1 << 20)
			broke("cannot try: write: %s", strerror(errno));
}

static void fill_pipes(const char *heap)
{
	int ends[2];
	for (size_t at = 0; at < PIECE / 2 && pipe2(ends, O_NONBLOCK) == 0; at += 65536)
		if (write(ends[1], heap, 65536) < 0)
			return;
}

static void fill_stack(void)
{
	volatile char frame[PIECE / 2];
	for (size_t at = 0; at < sizeof frame; at += 4096)
		frame[at] = 1;
}

int main(void)
{
	char *heap = map(MAP_PRIVATE), *shared = map(MAP_SHARED);
	memset(heap, 1, PIECE);
	if (fork() == 0) {
		memset(shared, 1, PIECE);
		_exit(0);
	}
	wait(NULL);
	fill_stack();
	fill_pipes(heap);
	fill_file(open("file", O_CREAT | O_RDWR, 0600), heap);
	fill_file(open("/dev/shm/file", O_CREAT | O_RDWR, 0600), heap);
	fill_file(memfd_create("file", 0), heap);
	held("held 72 MiB in seven places, to be counted");
}
