package hostfs

import (
	"io/fs"
	"os"
)

// Open opens a file for reading and leaves it open, for callers that read the same file again and
// again with ReadAt from offset 0: the kernel renders it again for every such read, and opening and
// closing, most of the cost of a small file, is paid once.
func (h FS) Open(path string) (*os.File, error) {
	if h.tree != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid} // a capture has no file that stays open
	}
	f, err := os.Open(h.Path(path))
	if err != nil {
		return nil, withHostPath(path, err)
	}
	return f, nil
}
