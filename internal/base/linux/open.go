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
