package linux

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// LockFile opens a file, made if need be, and takes its lock for this process alone; closing the file
// gives it back, and so does the end of the process, however it comes. EWOULDBLOCK: another process
// has it.
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

// SyncDir makes the names in a folder durable: a file that was made, renamed or removed there stays so after a loss of
// power.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
