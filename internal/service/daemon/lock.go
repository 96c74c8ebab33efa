package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"judged/internal/base/linux"
)

// lockFolder locks the data folder for this process until the file is closed. The kernel releases the lock when the
// process ends, in any way.
func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := linux.LockFile(path)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, fmt.Errorf("lock %q: another process uses this folder (pid %s); stop it or choose another --data-dir",
			path, holder(path))
	case err != nil:
		return nil, fmt.Errorf("lock data folder: %w; choose another --data-dir, on a file system with flock, or give "+
			"judged write access", err)
	}
	// The process ID is only for the error message of another process.
	if err = f.Truncate(0); err == nil {
		_, err = fmt.Fprintf(f, "%d", os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %q: %w; free disk space there", path, err), f.Close())
	}
	return f, nil
}

// holder returns the process ID in the lock file.
func holder(path string) string {
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 || len(text) > 20 {
		return "unknown"
	}
	return string(text)
}
