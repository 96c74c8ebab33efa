package linux

import (
	"os"

	"golang.org/x/sys/unix"
)

// Open opens a file that is always ready, as the kernel's own and memory's are:
// the runtime's poller, which os.Open asks first, does not hear of it. flags are
// those of open(2); the file is close-on-exec.
func Open(path string, flags int) (*os.File, error) {
	var fd int
	err := ignoringEINTR(func() (e error) {
		fd, e = unix.Open(path, flags|unix.O_CLOEXEC, 0)
		return e
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenPath takes hold of a file without opening it, open(2) with O_PATH: a device or a pipe does not
// notice. A symbolic link at the end of the path is held itself.
func OpenPath(path string) (*os.File, error) { return Open(path, unix.O_PATH|unix.O_NOFOLLOW) }

// OpenBeneath opens a file below a folder for reading, and follows no link on the way. It does not wait for the other
// end of a named pipe.
func OpenBeneath(dir *os.File, path string) (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	var fd int
	err := ignoringEINTR(func() (e error) {
		fd, e = unix.Openat2(int(dir.Fd()), path, &how)
		return e
	})
	if err != nil {
		return nil, &os.PathError{Op: "openat2", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
