package linux

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DetachedTmpfs creates a tmpfs that is not mounted anywhere and returns its root directory. The file system
// exists as long as the returned file or a mount of it. Options are key-value pairs as in mount(8).
func DetachedTmpfs(options ...[2]string) (*os.File, error) {
	return detached("tmpfs", 0, options)
}

// DetachedRamfs creates a ramfs that is not mounted anywhere and returns its root directory, which everyone can
// read. Reading leaves no trace: a ramfs has no access times, and its pages are on no LRU list, which
// /proc/PID/numa_maps would show. It has no creation times, which could not be changed. It has no size limit
// and always stays in memory.
func DetachedRamfs() (*os.File, error) {
	return detached("ramfs", unix.MOUNT_ATTR_NOATIME, [][2]string{{"mode", "0755"}})
}

// DetachedHuge creates a tmpfs of huge pages that is not mounted anywhere. It has no size limit, so statfs shows nothing
// about its other files, and no access times. It fails if the kernel has no huge pages, or an operator denies them.
func DetachedHuge() (*os.File, error) {
	const setting = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
	b, err := os.ReadFile(setting)
	if err == nil && strings.Contains(string(b), "[deny]") {
		err = &os.PathError{Op: "use huge pages", Path: setting, Err: unix.EPERM}
	}
	if err != nil {
		return nil, err
	}
	return detached("tmpfs", unix.MOUNT_ATTR_NOATIME, [][2]string{{"mode", "0755"}, {"huge", "always"}, {"size", "0"},
		{"nr_inodes", "0"}})
}

// DetachedDevices returns the root of devtmpfs without mounting it. The kernel has a single devtmpfs for all
// namespaces. Since Linux 5.17 each mount sets its options again; omitted options are unchanged.
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

// CloseToWrites makes a detached mount and all later clones of it read-only.
func CloseToWrites(mount *os.File) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(int(mount.Fd()), "", unix.AT_EMPTY_PATH, &attr); err != nil {
		return &os.PathError{Op: "mount_setattr", Path: mount.Name(), Err: err}
	}
	return nil
}

// Attach attaches a detached mount to the calling thread's mount namespace.
func Attach(mount *os.File, target string) error {
	if err := unix.MoveMount(int(mount.Fd()), "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return &os.PathError{Op: "move_mount", Path: target, Err: err}
	}
	return nil
}

// CloneMount returns a detached clone of a mount in the calling thread's mount namespace. Before Linux 6.15 the
// kernel cannot clone a detached mount.
func CloneMount(path string) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return nil, &os.PathError{Op: "open_tree", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Detach unmounts path from the calling thread's mount namespace. Clones of the mount remain.
func Detach(path string) error {
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
		return &os.PathError{Op: "umount2", Path: path, Err: err}
	}
	return nil
}

// MakeDir creates a folder in dir that belongs to uid. It ignores the umask.
func MakeDir(dir *os.File, name string, mode uint32, uid int) error {
	fd := int(dir.Fd())
	if err := unix.Mkdirat(fd, name, mode); err != nil {
		return &os.PathError{Op: "mkdirat", Path: name, Err: err}
	}
	return giveTo(fd, name, mode, uid)
}

// MakeFIFO creates a named pipe in dir that belongs to uid. It ignores the umask.
func MakeFIFO(dir *os.File, name string, mode uint32, uid int) error {
	fd := int(dir.Fd())
	if err := unix.Mkfifoat(fd, name, mode); err != nil {
		return &os.PathError{Op: "mkfifoat", Path: name, Err: err}
	}
	return giveTo(fd, name, mode, uid)
}

// giveTo sets the owner and the mode of a new file. It ignores the umask.
func giveTo(dir int, name string, mode uint32, uid int) error {
	if err := unix.Fchmodat(dir, name, mode, 0); err != nil {
		return &os.PathError{Op: "fchmodat", Path: name, Err: err}
	}
	if err := unix.Fchownat(dir, name, uid, uid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "fchownat", Path: name, Err: err}
	}
	return nil
}

// MakeFile copies src into a new file in dir that belongs to uid. It ignores the umask. The kernel copies the
// data; it does not pass through this process.
func MakeFile(dir *os.File, name string, mode uint32, uid int, src *os.File) error {
	return makeFile(dir, name, mode, uid, int(src.Fd()))
}

func makeFile(dir *os.File, name string, mode uint32, uid, src int) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC,
		mode)
	if err != nil {
		return &os.PathError{Op: "openat", Path: name, Err: err}
	}
	defer unix.Close(fd)
	if err := CopyAll(fd, src); err != nil {
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

// CopyFile is MakeFile for the file at path and root. It also sets the modification time, and returns the state of the
// original after the copy, which is consistent if that has not changed. It opens no os.File, which would ask the kernel
// whether one can wait for it.
func CopyFile(dir *os.File, name, path string, mode uint32, modified time.Time) (state syscall.Stat_t, err error) {
	var src int
	err = ignoringEINTR(func() (e error) {
		src, e = unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return e
	})
	if err != nil {
		return state, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(src)
	if err := makeFile(dir, name, mode, 0, src); err != nil {
		return state, err
	}
	if err := syscall.Fstat(src, &state); err != nil {
		return state, &os.PathError{Op: "fstat", Path: path, Err: err}
	}
	return state, SetModified(dir, name, modified)
}

// MakeEmpty creates an empty file in dir that belongs to root and that everyone can read, and opens it for reading and
// writing. It ignores the umask. The file and those that are opened by its descriptor do not show the name in
// /proc/PID/fd, but "/#INODE (deleted)": it gets the name afterwards.
func MakeEmpty(dir *os.File, name string) (*os.File, error) {
	const mode = 0o444
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, mode)
	if err != nil {
		return nil, &os.PathError{Op: "openat O_TMPFILE", Path: dir.Name(), Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	err = f.Chmod(mode)
	if err == nil {
		err = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), int(dir.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	}
	if err != nil {
		f.Close()
		return nil, &os.PathError{Op: "create", Path: name, Err: err}
	}
	return f, nil
}

// MakeLink creates a symbolic link in dir.
func MakeLink(dir *os.File, name, target string) error {
	if err := unix.Symlinkat(target, int(dir.Fd()), name); err != nil {
		return &os.PathError{Op: "symlinkat", Path: name, Err: err}
	}
	return nil
}

// Touch sets the access and modification times of a file to the epoch, and thereby its ctime, which cannot be
// set directly, to now.
func Touch(f *os.File) error {
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), make([]unix.Timespec, 2),
		0); err != nil {
		return &os.PathError{Op: "utimensat", Path: f.Name(), Err: err}
	}
	return nil
}

// SetModified sets the modification time of a file or link in dir.
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
