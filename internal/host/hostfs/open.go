package hostfs

import (
	"io/fs"
	"os"
)

// Open opens a file that the caller reads repeatedly with ReadAt at offset 0. The kernel generates the content
// on each such read. This saves opening and closing, which is most of the cost of reading a small file.
func (h FS) Open(path string) (*os.File, error) {
	if h.tree != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid} // files of a capture cannot stay open
	}
	f, err := os.Open(h.Path(path))
	if err != nil {
		return nil, withHostPath(path, err)
	}
	return f, nil
}
