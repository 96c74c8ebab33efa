package linux

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// DetachedTmpfs makes a tmpfs that is mounted nowhere and returns its root as a
// directory. It lives as long as that or a mount of it. Options are those of
// mount(8), each a key and a value.
func DetachedTmpfs(options ...[2]string) (*os.File, error) {
	return detached("tmpfs", 0, options)
}

// DetachedRamfs makes a ramfs that is mounted nowhere and returns its root as a
// directory that everybody may read. Reading leaves no trace in it: it keeps no
// time of access, and its pages are on no list of those that were used lately,
// which /proc/PID/numa_maps would show. It has no time of creation, which
// nobody could change. Nothing bounds it, and all of it stays in memory.
func DetachedRamfs() (*os.File, error) {
	return detached("ramfs", unix.MOUNT_ATTR_NOATIME, [][2]string{{"mode", "0755"}})
}

// DetachedDevices returns the root of devtmpfs, mounted nowhere. The kernel has one such file system for all
// namespaces. Since Linux 5.17 each mount sets its options again: those left out stay as they are.
func DetachedDevices() (*os.File, error) { return detached("devtmpfs", 0, nil) }

func detached(fstype string, attributes int, options [][2]string) (*os.File, error) {
	context, err := unix.Fsopen(fstype, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("fsopen "+fstype, err)
	}
	defer unix.Close(context)
	for _, o := range options {
		if err := unix.FsconfigSetString(context, o[0], o[1]); err != nil {
			return nil, &os.PathError{Op: "fsconfig " + fstype, Path: o[0] + "=" + o[1], Err: err}
		}
	}
	if err := unix.FsconfigCreate(context); err != nil {
		return nil, os.NewSyscallError("fsconfig create "+fstype, err)
	}
	fd, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, attributes|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return nil, os.NewSyscallError("fsmount "+fstype, err)
	}
	return os.NewFile(uintptr(fd), fstype), nil
}

// CloseToWrites makes a detached mount read-only, and what is cloned from it.
func CloseToWrites(mount *os.File) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(int(mount.Fd()), "", unix.AT_EMPTY_PATH, &attr); err != nil {
		return &os.PathError{Op: "mount_setattr", Path: mount.Name(), Err: err}
	}
	return nil
}

// Attach puts a detached mount in its place in the calling thread's mount
// namespace.
func Attach(mount *os.File, target string) error {
	if err := unix.MoveMount(int(mount.Fd()), "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return &os.PathError{Op: "move_mount", Path: target, Err: err}
	}
	return nil
}

// CloneMount makes another, detached mount of what is mounted in the calling
// thread's mount namespace. The kernel clones no detached one before 6.15.
func CloneMount(path string) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return nil, &os.PathError{Op: "open_tree", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Detach takes a mount out of the calling thread's mount namespace. It lives on
// where it is cloned.
func Detach(path string) error {
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
		return &os.PathError{Op: "umount2", Path: path, Err: err}
	}
	return nil
}

// MakeDir makes a folder in dir for a user, whatever the umask.
func MakeDir(dir *os.File, name string, mode uint32, uid int) error {
	fd := int(dir.Fd())
	if err := unix.Mkdirat(fd, name, mode); err != nil {
		return &os.PathError{Op: "mkdirat", Path: name, Err: err}
	}
	return giveTo(fd, name, mode, uid)
}

// MakeFIFO makes a named pipe in dir for a user, whatever the umask.
func MakeFIFO(dir *os.File, name string, mode uint32, uid int) error {
	fd := int(dir.Fd())
	if err := unix.Mkfifoat(fd, name, mode); err != nil {
		return &os.PathError{Op: "mkfifoat", Path: name, Err: err}
	}
	return giveTo(fd, name, mode, uid)
}

// giveTo sets the mode, whatever the umask, and the owner of a new file.
func giveTo(dir int, name string, mode uint32, uid int) error {
	if err := unix.Fchmodat(dir, name, mode, 0); err != nil {
		return &os.PathError{Op: "fchmodat", Path: name, Err: err}
	}
	if err := unix.Fchownat(dir, name, uid, uid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "fchownat", Path: name, Err: err}
	}
	return nil
}

// MakeFile copies src into a new file in dir for a user, whatever the umask.
// Nothing of it passes through this process.
func MakeFile(dir *os.File, name string, mode uint32, uid int, src *os.File) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC,
		mode)
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

// MakeUnnamed makes a file in dir that has no name and ends with its last
// descriptor. Everybody may read it.
func MakeUnnamed(dir *os.File) (*os.File, error) {
	const mode = 0o444
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, mode)
	if err != nil {
		return nil, &os.PathError{Op: "openat O_TMPFILE", Path: dir.Name(), Err: err}
	}
	f := os.NewFile(uintptr(fd), dir.Name())
	// The umask has cut the mode.
	if err := f.Chmod(mode); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// MakeLink makes a symbolic link in dir.
func MakeLink(dir *os.File, name, target string) error {
	if err := unix.Symlinkat(target, int(dir.Fd()), name); err != nil {
		return &os.PathError{Op: "symlinkat", Path: name, Err: err}
	}
	return nil
}

// Touch makes now the time of the last change of a file's properties, which
// cannot be set, and the other two times the start of 1970.
func Touch(f *os.File) error {
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), make([]unix.Timespec, 2),
		0); err != nil {
		return &os.PathError{Op: "utimensat", Path: f.Name(), Err: err}
	}
	return nil
}

// SetModified sets when a file or a link in dir was last changed.
func SetModified(dir *os.File, name string, at time.Time) error {
	ts, err := unix.TimeToTimespec(at)
	if err == nil {
		err = unix.UtimesNanoAt(int(dir.Fd()), name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return &os.PathError{Op: "utimensat", Path: name, Err: err}
	}
	return nil
}
