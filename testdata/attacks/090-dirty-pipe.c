/* Moves a page of a file of /usr into a pipe and writes to the pipe: in
 * CVE-2022-0847 (Dirty Pipe) that wrote to the file in the page cache, for all
 * runs and the host. The byte that is written is the one that is there. What
 * must stop it: no splice, tee, vmsplice, sendfile or copy_file_range, and no
 * pipe larger than the usual. */
#include "attack.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

int main(void)
{
	static char page[4096] = "x";
	struct iovec vector = {page, sizeof page};
	int pipes[2], other[2], file = open(host_file(), O_RDONLY), memfd = memfd_create("m", 0);
	if (pipe(pipes) < 0 || pipe(other) < 0 || file < 0 || write(memfd, page, 4096) != 4096)
		broke("cannot try: %s", strerror(errno));
	/* Fill and drain, so that the buffers keep the flag that the bug was about. */
	for (int i = 0; i < 16; i++)
		if (write(pipes[1], page, 4096) != 4096 || read(pipes[0], page, 4096) != 4096)
			broke("cannot try: %s", strerror(errno));
	loff_t offset = 0;
	off_t small = 0;
	long moved = splice(file, &offset, pipes[1], NULL, 1, 0);
	if (moved == 1 && write(pipes[1], "E", 1) == 1) /* byte 1 of an ELF file */
		broke("a page of /usr is in a pipe");
	refused(moved, "splice");
	refused(splice(memfd, &offset, pipes[1], NULL, 1, 0), "splice from a memfd");
	refused(splice(pipes[0], NULL, other[1], NULL, 1, SPLICE_F_NONBLOCK), "splice from pipe to pipe");
	refused(tee(pipes[0], other[1], 1, SPLICE_F_NONBLOCK), "tee");
	refused(vmsplice(pipes[1], &vector, 1, SPLICE_F_GIFT), "vmsplice");
	refused(sendfile(pipes[1], file, &small, 1), "sendfile");
	refused(copy_file_range(file, &offset, memfd, NULL, 1, 0), "copy_file_range");
	refused(fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20), "F_SETPIPE_SZ");
	held("no page of a file in a pipe");
}
