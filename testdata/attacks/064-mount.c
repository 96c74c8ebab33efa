/* Mounts, unmounts and changes roots, by the old calls and the new ones. Each
 * would show other files or make /usr writable. The mounts would be tmpfs on
 * the run's own folder, so that nothing is lost if one succeeds. What must
 * stop it: no capabilities, and seccomp, which ends the run. */
#include "attack.h"
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>

#define PLACE "/box/work"

static void new_tmpfs(void)
{
	if (syscall(SYS_mount, "none", PLACE, "tmpfs", 0, NULL) == 0)
		broke("mount of a tmpfs");
}
static void remount(void)
{
	if (syscall(SYS_mount, NULL, "/usr", NULL, 0x1000 /* MS_BIND */ | 32 /* MS_REMOUNT */ | 1, NULL) == 0)
		broke("remount of /usr (read-only, as it was)");
}
static void unmount(void)
{
	if (syscall(SYS_umount2, "/proc/none", 2 /* MNT_DETACH */) == 0 || errno == ENOENT)
		broke("umount2 looks at its path");
}
static void pivot(void)
{
	if (syscall(SYS_pivot_root, PLACE, PLACE) == 0)
		broke("pivot_root");
}
static void root(void)
{
	if (chroot(PLACE) == 0)
		broke("chroot");
}
static void tree(void)
{
	if (syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE) >= 0)
		broke("open_tree");
}
static void context(void)
{
	if (syscall(SYS_fsopen, "tmpfs", 0) >= 0)
		broke("fsopen");
}
static void pick(void)
{
	if (syscall(SYS_fspick, AT_FDCWD, "/box", 0) >= 0)
		broke("fspick");
}
static void attributes(void)
{
	struct mount_attr none = {0};
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, &none, sizeof none) == 0)
		broke("mount_setattr");
}
static void move(void)
{
	if (syscall(SYS_move_mount, AT_FDCWD, PLACE, AT_FDCWD, PLACE, 0) == 0)
		broke("move_mount");
}

int main(void)
{
	apart(remount, "remount");
	apart(unmount, "umount2");
	apart(pivot, "pivot_root");
	apart(root, "chroot");
	apart(tree, "open_tree");
	apart(context, "fsopen");
	apart(pick, "fspick");
	apart(attributes, "mount_setattr");
	apart(move, "move_mount");
	new_tmpfs();
	held("mount: %s", strerror(errno));
}
