package linux

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// UnshareFilesystem gives the calling thread a mount namespace of its own in
// which nothing propagates to or from the host.
func UnshareFilesystem() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare CLONE_NEWNS", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount / private", err)
	}
	return nil
}

// UnshareNetwork gives the calling thread a network namespace with nothing in
// it: even its loopback is down.
func UnshareNetwork() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return os.NewSyscallError("unshare CLONE_NEWNET", err)
	}
	return nil
}

// NewNetwork makes a network namespace like UnshareNetwork's and leaves the
// calling thread in it, which has to end: the namespace outlives it as long as
// the file is open.
func NewNetwork() (*os.File, error) {
	if err := UnshareNetwork(); err != nil {
		return nil, err
	}
	return os.Open("/proc/thread-self/ns/net")
}

// UnshareHostname gives the calling thread a host name of its own.
func UnshareHostname(name string) error {
	if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
		return os.NewSyscallError("unshare CLONE_NEWUTS", err)
	}
	if err := unix.Sethostname([]byte(name)); err != nil {
		return &os.PathError{Op: "sethostname", Path: name, Err: err}
	}
	return nil
}

// RunNamespaces are the namespaces that every run has for itself.
const RunNamespaces = MountNamespace | unix.CLONE_NEWPID | unix.CLONE_NEWIPC

// MountNamespace is the one of them that a run cannot do without.
const MountNamespace = unix.CLONE_NEWNS

// The mount flags that judged uses.
const (
	ReadOnly = unix.MS_RDONLY
	NoSuid   = unix.MS_NOSUID
	NoDev    = unix.MS_NODEV
	NoExec   = unix.MS_NOEXEC
)

// Mount mounts a new instance of a file system.
func Mount(fstype, target string, flags uintptr, data string) error {
	if err := unix.Mount(fstype, target, fstype, flags, data); err != nil {
		return &os.PathError{Op: "mount " + fstype + " on", Path: target, Err: err}
	}
	return nil
}

// DetachedTmpfs makes a tmpfs that is mounted nowhere and returns its root as a
// directory. It lives as long as that or a mount of it. Options are those of
// mount(8), each a key and a value.
func DetachedTmpfs(options ...[2]string) (*os.File, error) {
	context, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("fsopen tmpfs", err)
	}
	defer unix.Close(context)
	for _, o := range options {
		if err := unix.FsconfigSetString(context, o[0], o[1]); err != nil {
			return nil, &os.PathError{Op: "fsconfig tmpfs", Path: o[0] + "=" + o[1], Err: err}
		}
	}
	if err := unix.FsconfigCreate(context); err != nil {
		return nil, os.NewSyscallError("fsconfig create tmpfs", err)
	}
	fd, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return nil, os.NewSyscallError("fsmount tmpfs", err)
	}
	return os.NewFile(uintptr(fd), "box"), nil
}

// MakeDir makes a folder in dir for a user, whatever the umask.
func MakeDir(dir *os.File, name string, mode uint32, uid int) error {
	fd := int(dir.Fd())
	if err := unix.Mkdirat(fd, name, mode); err != nil {
		return &os.PathError{Op: "mkdirat", Path: name, Err: err}
	}
	if err := unix.Fchmodat(fd, name, mode, 0); err != nil {
		return &os.PathError{Op: "fchmodat", Path: name, Err: err}
	}
	if err := unix.Fchownat(fd, name, uid, uid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "fchownat", Path: name, Err: err}
	}
	return nil
}

// MakeFile copies src into a new file in dir for a user, whatever the umask.
// Nothing of it passes through this process.
func MakeFile(dir *os.File, name string, mode uint32, uid int, src *os.File) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return &os.PathError{Op: "openat", Path: name, Err: err}
	}
	defer unix.Close(fd)
	if err := CopyAll(fd, int(src.Fd())); err != nil {
		return &os.PathError{Op: "copy", Path: name, Err: err}
	}
	if err := unix.Fchmod(fd, mode); err != nil {
		return &os.PathError{Op: "fchmod", Path: name, Err: err}
	}
	if err := unix.Fchown(fd, uid, uid); err != nil {
		return &os.PathError{Op: "fchown", Path: name, Err: err}
	}
	return nil
}

// Bind shows a file or a folder, with what is mounted below it, at another
// place, with the flags on all of it. The flags need a second call: a bind
// mount ignores them in the first.
func Bind(source, target string, flags uintptr) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return &os.PathError{Op: "bind " + source + " on", Path: target, Err: err}
	}
	attr := unix.MountAttr{Propagation: unix.MS_PRIVATE}
	for flag, bit := range map[uintptr]uint64{ReadOnly: unix.MOUNT_ATTR_RDONLY, NoSuid: unix.MOUNT_ATTR_NOSUID,
		NoDev: unix.MOUNT_ATTR_NODEV, NoExec: unix.MOUNT_ATTR_NOEXEC} {
		if flags&flag != 0 {
			attr.Attr_set |= bit
		}
	}
	// mount_setattr (Linux 5.12) is the only way to reach the mounts below.
	if err := unix.MountSetattr(-1, target, unix.AT_RECURSIVE, &attr); err != nil {
		return &os.PathError{Op: "mount_setattr", Path: target, Err: err}
	}
	return nil
}

// Remount changes the flags of one mount.
func Remount(target string, flags uintptr) error {
	if err := unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|flags, ""); err != nil {
		return &os.PathError{Op: "remount", Path: target, Err: err}
	}
	return nil
}

// PivotRoot makes root the file system of the calling thread's mount namespace
// and lets go of everything else.
func PivotRoot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return &os.PathError{Op: "chdir", Path: root, Err: err}
	}
	// With both arguments the same the old root is stacked on the new one
	// and needs no folder to be put in (pivot_root(2), NOTES).
	if err := unix.PivotRoot(".", "."); err != nil {
		return &os.PathError{Op: "pivot_root", Path: root, Err: err}
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return os.NewSyscallError("umount2 old root", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return os.NewSyscallError("chdir /", err)
	}
	return nil
}

// Device makes a character device node.
func Device(path string, mode os.FileMode, major, minor uint32) error {
	err := unix.Mknod(path, unix.S_IFCHR|uint32(mode.Perm()), int(unix.Mkdev(major, minor)))
	if errors.Is(err, unix.EPERM) {
		return &os.PathError{Op: "mknod (judged needs CAP_MKNOD)", Path: path, Err: err}
	}
	if err != nil {
		return &os.PathError{Op: "mknod", Path: path, Err: err}
	}
	// The mode given to mknod is cut by the umask.
	return os.Chmod(path, mode)
}
