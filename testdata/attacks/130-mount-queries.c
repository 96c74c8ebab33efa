/* Asks for mounts and for files past mounts by newer calls: statmount and
 * listmount, openat2 with its RESOLVE flags, attributes of files, handles
 * (open_by_handle_at opened any file of the host from a Docker container in
 * 2014: shocker). What must stop it: seccomp, behind it the mount namespace and
 * no capabilities. */
#include "attack.h"
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static struct { struct file_handle handle; char bytes[128]; } file = {.handle = {.handle_bytes = 128}};

static void handle_of_root(void)
{
	int mount;
	if (name_to_handle_at(AT_FDCWD, "/usr", &file.handle, &mount, 0) == 0)
		broke("the handle of /usr");
}

/* shocker: inode 2 is the root of ext4. */
static void open_root(void)
{
	file.handle.handle_bytes = 8;
	file.handle.handle_type = 1;
	memcpy(file.handle.f_handle, &(uint64_t){2}, 8);
	int fd = open_by_handle_at(open("/usr", O_RDONLY), &file.handle, O_RDONLY | O_DIRECTORY);
	if (fd >= 0)
		broke("opened the host's root");
}

int main(void)
{
	struct { uint32_t size, fd; uint64_t id, parameter, ns; } request = {.size = 24, .id = ~0ULL, .parameter = 3};
	uint64_t answer[64];
	const unsigned long resolve[] = {0, RESOLVE_IN_ROOT, RESOLVE_BENEATH, RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_CACHED};
	refused(syscall(457 /* statmount */, &request, answer, sizeof answer, 0), "statmount");
	refused(syscall(458 /* listmount */, &request, answer, 64, 0), "listmount");
	for (size_t i = 0; i < sizeof resolve / sizeof *resolve; i++) {
		struct open_how how = {.flags = O_RDONLY, .resolve = resolve[i]};
		refused(syscall(SYS_openat2, AT_FDCWD, "/box/work/../../..", &how, sizeof how), "openat2");
	}
	refused(syscall(463 /* setxattrat */, AT_FDCWD, ".", 0, "user.a", 0, 0), "setxattrat");
	refused(syscall(468 /* file_getattr */, AT_FDCWD, ".", answer, 24, 0), "file_getattr");
	refused(syscall(470 /* listns */, &request, answer, 8, 0), "listns");
	apart(open_root, "open_by_handle_at");
	handle_of_root();
	held("name_to_handle_at: %s", strerror(errno));
}
