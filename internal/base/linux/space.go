package linux

import (
	"os"

	"golang.org/x/sys/unix"
)

// Space is the free space of a file system. A member is negative if the file system does not limit it, such as
// tmpfs without a size, or the inodes of btrfs.
type Space struct{ Bytes, Inodes int64 }

// FreeSpace returns the free space of the file system of path, without the part reserved for root.
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
