package linux

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// UnshareFilesystem moves the calling thread into a new mount namespace without mount propagation to or from
// the host.
func UnshareFilesystem() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare CLONE_NEWNS", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount / private", err)
	}
	return nil
}

// UnshareNetwork moves the calling thread into a new, empty network namespace. Even its loopback interface is
// down.
func UnshareNetwork() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return os.NewSyscallError("unshare CLONE_NEWNET", err)
	}
	return nil
}

// NewNetwork creates a network namespace like UnshareNetwork and moves the calling thread into it. The thread
// must then exit; the namespace exists as long as the returned file is open.
func NewNetwork() (*os.File, error) {
	if err := UnshareNetwork(); err != nil {
		return nil, err
	}
	return os.Open("/proc/thread-self/ns/net")
}

// UnshareHostname moves the calling thread into a new UTS namespace with the given host name.
func UnshareHostname(name string) error {
	if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
		return os.NewSyscallError("unshare CLONE_NEWUTS", err)
	}
	if err := unix.Sethostname([]byte(name)); err != nil {
		return &os.PathError{Op: "sethostname", Path: name, Err: err}
	}
	return nil
}

// RunNamespaces are the namespaces that are created for each run.
const RunNamespaces = MountNamespace | unix.CLONE_NEWPID | unix.CLONE_NEWIPC

// MountNamespace is the one of RunNamespaces that a run always needs.
const MountNamespace = unix.CLONE_NEWNS

// The mount flags that judged uses.
const (
	ReadOnly = unix.MS_RDONLY
	NoSuid   = unix.MS_NOSUID
	NoDev    = unix.MS_NODEV
	NoExec   = unix.MS_NOEXEC
)

func Mount(fstype, target string, flags uintptr, data string) error {
	if err := unix.Mount(fstype, target, fstype, flags, data); err != nil {
		return &os.PathError{Op: "mount " + fstype + " on", Path: target, Err: err}
	}
	return nil
}

// Bind mounts a file or folder, with the mounts below it, at another path and sets the flags on all of them.
// The flags need a second call, because the first call of a bind mount ignores them.
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
	// Only mount_setattr (Linux 5.12) also changes the mounts below.
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

// PivotRoot makes root the root of the calling thread's mount namespace and unmounts everything else.
func PivotRoot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return &os.PathError{Op: "chdir", Path: root, Err: err}
	}
	// If both arguments are equal, the old root is stacked on the new one and needs no folder (pivot_root(2),
	// NOTES).
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

// Device creates a character device node.
func Device(path string, mode os.FileMode, major, minor uint32) error {
	err := unix.Mknod(path, unix.S_IFCHR|uint32(mode.Perm()), int(unix.Mkdev(major, minor)))
	if errors.Is(err, unix.EPERM) {
		return &os.PathError{Op: "mknod (judged needs CAP_MKNOD)", Path: path, Err: err}
	}
	if err != nil {
		return &os.PathError{Op: "mknod", Path: path, Err: err}
	}
	// mknod applies the umask to the mode.
	return os.Chmod(path, mode)
}
