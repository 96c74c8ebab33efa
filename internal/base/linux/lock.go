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

// SyncDir makes changes to the entries of a folder durable: files created, renamed or removed in it stay so
// after a power failure.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// SyncFileSystem makes all changes to the file system of f durable, in one step. Since Linux 5.8 it reports writes that
// failed since f was opened.
func SyncFileSystem(f *os.File) error {
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: f.Name(), Err: err}
	}
	return nil
}
