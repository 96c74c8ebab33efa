/* An output that is large and costs nothing: seek to the end of what is allowed and
 * far beyond, write one byte, grow by ftruncate and fallocate. A judge that reads up
 * to the size, or counts blocks, is led astray. What must stop it: RLIMIT_FSIZE bounds
 * offsets; the size decides, holes included. */
#include "attack.h"
#include <fcntl.h>
#include <signal.h>

int main(void)
{
	const off_t limit = 65536, far = 1L << 40;
	signal(SIGXFSZ, SIG_IGN);
	int failed = ftruncate(1, far) == 0;
	failed |= ftruncate(1, limit + 2) == 0;
	failed |= fallocate(1, 0, limit, 4096) == 0;
	failed |= fallocate(1, FALLOC_FL_KEEP_SIZE, far, 4096) == 0;
	failed |= fallocate(1, FALLOC_FL_ZERO_RANGE, 0, far) == 0;
	failed |= pwrite(1, "x", 1, limit + 1) == 1;
	failed |= pwrite(1, "x", 1, far) == 1;
	failed |= lseek(1, far, SEEK_SET) == far && write(1, "x", 1) == 1;
	if (failed)
		broke("an offset beyond the limit");
	lseek(1, limit, SEEK_SET);
	if (write(1, "x", 1) != 1)
		return 1; /* the byte that tells of too much output */
	return 0;
}
