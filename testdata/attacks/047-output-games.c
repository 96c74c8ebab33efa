/* Play with stdout as a file: cut it, write behind the end, punch holes, append,
 * grow it to the limit and shrink it again, through a second descriptor too. What
 * must stop it: nothing need, the judge reads what is there in the end; what must not
 * happen is that it reads more, or less, or fails. In the end the output is what
 * held writes. */
#include "attack.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	struct stat now;
	int other = dup(1);
	if (other < 0 || write(1, "the answer to another question\n", 31) != 31)
		broke("cannot try: write: %s", strerror(errno));
	if (pwrite(other, "x", 1, 60000) != 1 || ftruncate(1, 65536) != 0 || ftruncate(other, 10) != 0)
		broke("cannot try: the limit is 65536: %s", strerror(errno));
	fallocate(1, FALLOC_FL_KEEP_SIZE, 0, 65536);
	fallocate(1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 65536);
	fallocate(1, FALLOC_FL_COLLAPSE_RANGE, 0, 4096);
	fcntl(1, F_SETFL, O_APPEND | O_NONBLOCK);
	if (write(other, "appended\n", 9) != 9 || fstat(1, &now) != 0 || now.st_size != 19)
		broke("cannot try: %ld bytes instead of 19", (long)now.st_size);
	fcntl(1, F_SETFL, 0);
	if (lseek(other, 1L << 40, SEEK_SET) < 0 || lseek(1, 0, SEEK_SET) != 0 || ftruncate(1, 0) != 0)
		broke("cannot try: lseek: %s", strerror(errno));
	held("only this is left");
}
