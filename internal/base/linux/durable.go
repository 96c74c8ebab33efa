package linux

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ReplaceFile writes a file durably, and as a whole or not at all: under a temporary name in the same folder, prefix and
// a number, until it is renamed. After a crash, that file remains; see RemoveUnfinished.
func ReplaceFile(path, prefix string, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), prefix)
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

// RemoveUnfinished removes the files that crashes during ReplaceFile have left in a folder. Nobody may be in ReplaceFile
// with this folder and prefix.
func RemoveUnfinished(folder, prefix string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		number, found := strings.CutPrefix(e.Name(), prefix)
		if found && e.Type().IsRegular() && number != "" && strings.Trim(number, "0123456789") == "" {
			err = errors.Join(err, os.Remove(filepath.Join(folder, e.Name())))
		}
	}
	return err
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
