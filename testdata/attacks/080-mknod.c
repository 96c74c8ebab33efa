/* Makes device nodes for the disk, the kernel's memory, a network tunnel, and
 * opens them for reading. What must stop it: no CAP_MKNOD, and the box is mounted
 * without devices. */
#include "attack.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

int main(void)
{
	static const struct { const char *name; mode_t type; unsigned major, minor; } devices[] = {
		{"vda", S_IFBLK, 254, 0}, {"sda", S_IFBLK, 8, 0}, {"nvme", S_IFBLK, 259, 0}, {"loop", S_IFBLK, 7, 0}, {"mem", S_IFCHR, 1, 1}, {"port", S_IFCHR, 1, 4},
		{"kmsg", S_IFCHR, 1, 11}, {"tun", S_IFCHR, 10, 200}, {"fuse", S_IFCHR, 10, 229}, {"kvm", S_IFCHR, 10, 232}, {"tty", S_IFCHR, 5, 0},
		{"ptmx", S_IFCHR, 5, 2}, {"null", S_IFCHR, 1, 3}, {"cuse", S_IFCHR, 10, 203}, {"whiteout", S_IFCHR, 0, 0}};
	static const char *const folders[] = {".", "/tmp", "/dev/shm"};
	char path[64];
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		for (int j = 0; j < 3; j++) {
			snprintf(path, sizeof path, "%s/%s", folders[j], devices[i].name);
			int made = mknod(path, devices[i].type | 0666, makedev(devices[i].major, devices[i].minor));
			if (made == 0 && open(path, O_RDONLY | O_NONBLOCK) >= 0)
				broke("made and opened the device %s", path);
			/* The whiteout, 0:0, everybody may make since 5.8; it opens nothing. */
			if (made == 0 && devices[i].major != 0)
				broke("made the device %s", path);
		}
	held("no device");
}
