package linux

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// LockFile opens a file, creating it if necessary, and locks it exclusively. The lock is released when the file
// is closed or the process exits. The error is EWOULDBLOCK if another process holds the lock.
func LockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(&os.PathError{Op: "flock", Path: path, Err: err}, f.Close())
	}
	return f, nil
}
