package linux

import (
	"os"

	"golang.org/x/sys/unix"
)

// Space is what can still be written to a file system. A member that the file
// system does not count, as tmpfs without a size or btrfs its inodes, is below 0.
type Space struct{ Bytes, Inodes int64 }

// FreeSpace is the space of the file system of path, without what is reserved for
// root.
func FreeSpace(path string) (Space, error) {
	var s unix.Statfs_t
	for {
		err := unix.Statfs(path, &s)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Space{}, &os.PathError{Op: "statfs", Path: path, Err: err}
		}
		break
	}
	free := Space{Bytes: -1, Inodes: -1}
	if s.Blocks > 0 {
		free.Bytes = int64(s.Bavail) * s.Bsize
	}
	if s.Files > 0 {
		free.Inodes = int64(s.Ffree)
	}
	return free, nil
}
