package linux

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ReplaceFile writes a file durably, and as a whole or not at all: under a temporary name in the same folder, which
// os.CreateTemp makes of the pattern, until it is renamed.
func ReplaceFile(path, pattern string, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), pattern)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(path))
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
