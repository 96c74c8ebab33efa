/* Asks file systems and devices by ioctl for what has no call of its own: flags
 * that make a file immutable, so that root cannot remove it; clones and
 * deduplication, which compare files of others; freezing, trimming, encryption
 * keys; entropy counts; all commands of the usual types in a row. What must stop
 * it: seccomp, by a list of five commands. */
#include "attack.h"
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/random.h>
#include <sys/ioctl.h>

static int file, shared, urandom;

static void try(unsigned long command, const char *name)
{
	static char argument[8192];
	const int each[] = {file, shared, urandom, 1};
	for (int i = 0; i < 4; i++) {
		memset(argument, 0, sizeof argument);
		if (ioctl(each[i], command, argument) >= 0)
			broke("%s on descriptor %d", name, each[i]);
		if (errno != ENOTTY)
			broke("%s is known: %s", name, strerror(errno));
	}
}

int main(void)
{
	char name[16];
	file = open("file", O_CREAT | O_RDWR, 0600);
	shared = open(host_file(), O_RDONLY);
	urandom = open("/dev/urandom", O_RDONLY);
	try(FS_IOC_GETFLAGS, "FS_IOC_GETFLAGS");
	try(FS_IOC_SETFLAGS, "FS_IOC_SETFLAGS");
	try(FS_IOC_FSSETXATTR, "FS_IOC_FSSETXATTR");
	try(FICLONE, "FICLONE");
	try(FICLONERANGE, "FICLONERANGE");
	try(FIDEDUPERANGE, "FIDEDUPERANGE");
	try(FS_IOC_FIEMAP, "FS_IOC_FIEMAP");
	try(FIBMAP, "FIBMAP");
	try(FS_IOC_ADD_ENCRYPTION_KEY, "FS_IOC_ADD_ENCRYPTION_KEY");
	try(FS_IOC_GETFSLABEL, "FS_IOC_GETFSLABEL");
	try(RNDGETENTCNT, "RNDGETENTCNT");
	/* Reading commands of these types; those that write may change something. */
	for (int type = 0; type < 256; type++)
		for (int number = 0; number < 64; number += 7) {
			snprintf(name, sizeof name, "%02x %02x", type, number);
			if (type != 'T')
				try(_IOR(type, number, int), name);
		}
	held("no command of a file system or device");
}
