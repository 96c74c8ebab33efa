package linux

import (
	"os"

	"golang.org/x/sys/unix"
)

// Open opens a file that never blocks, such as a kernel or memory file. Unlike os.Open it bypasses the
// runtime's poller. flags are those of open(2); the file is close-on-exec.
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

// OpenPath returns a descriptor for a file without opening it (O_PATH of open(2)), which has no effect on a
// device or pipe. If the last component of path is a symbolic link, the descriptor is for the link.
func OpenPath(path string) (*os.File, error) { return Open(path, unix.O_PATH|unix.O_NOFOLLOW) }

// OpenBeneath opens a file below a folder for reading without following links or entering other mounts. It does not wait
// for the other end of a named pipe.
func OpenBeneath(dir *os.File, path string) (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS |
			unix.RESOLVE_NO_XDEV}
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
