package hostfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// FS is a host seen below one root directory. The zero value is the live machine. It is a small
// value, safe to copy and to use from many goroutines.
type FS struct {
	root  string
	tree  fs.FS      // read instead of root, if not nil
	notes *Recording // takes down what is read, if not nil
}

// New returns the host below root: "/" for the live machine, another directory in tests. Symbolic
// links in it must be relative, since an absolute one is followed by the kernel out of the tree.
func New(root string) FS {
	return FS{root: filepath.Clean("/" + strings.TrimPrefix(absolute(root), "/"))}
}

func absolute(root string) string {
	if root == "" {
		return "/"
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		// Only a deleted working directory gets here; the reads that follow name the path.
		return root
	}
	return abs
}

// Path is where a host path really lies.
func (h FS) Path(path string) string {
	if !filepath.IsAbs(path) {
		path = "/" + path
	}
	path = filepath.Clean(path)
	if h.root == "" || h.root == "/" {
		return path // the live machine, where files are read for every run
	}
	return filepath.Join(h.root, path)
}

// firstRead is enough for nearly every file of the kernel at once: a sysfs attribute ends at one
// page, and /proc/<pid>/stat and status lie far below.
const firstRead = 4 << 10

// buffers are reused: most files have a few bytes, and an examination of the host reads a thousand.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, firstRead); return &b }}

// ReadFile returns the whole content. The sizes that stat reports for such files are wrong (0 or
// 4096), so it reads until the end is seen, with a buffer that doubles: few, big reads keep the
// snapshot of a file that the kernel renders per read as coherent as it can be.
func (h FS) ReadFile(path string) ([]byte, error) {
	read := h.readLive
	if h.tree != nil {
		read = h.readTree
	}
	b, err := read(path)
	h.notes.file(path, b, err)
	return b, err
}

func (h FS) readLive(path string) ([]byte, error) {
	fd, err := open(h.Path(path), syscall.O_RDONLY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	buffer := buffers.Get().(*[]byte)
	buf := (*buffer)[:0]
	defer func() {
		*buffer = buf
		buffers.Put(buffer)
	}()
	for {
		n, err := read(fd, buf[len(buf):cap(buf)])
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return bytes.Clone(buf), nil
		}
		buf = buf[:len(buf)+n]
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), 4*cap(buf))
			copy(grown, buf)
			buf = grown
		}
	}
}

// Read returns the content without the white space around it.
func (h FS) Read(path string) (string, error) {
	b, err := h.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

// ReadInt returns the content as one decimal number. "max" and other words are errors that name
// the path and the word.
func (h FS) ReadInt(path string) (int64, error) {
	s, err := h.Read(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse number %q of %s: %w", s, path, errors.Unwrap(err))
	}
	return n, nil
}

// Write hands value to the kernel in exactly one write(2), because a kernel file takes every write
// as a separate command. It never creates the file. A short write is an error: half a command was
// taken.
func (h FS) Write(path, value string) error {
	if h.tree != nil {
		return fmt.Errorf("write %q: %w", value, &fs.PathError{Op: "open", Path: path, Err: syscall.EROFS})
	}
	fd, err := open(h.Path(path), syscall.O_WRONLY|syscall.O_TRUNC)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	n, err := write(fd, []byte(value))
	if err == nil && n != len(value) {
		err = syscall.EIO
	}
	if cerr := syscall.Close(fd); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", value, &fs.PathError{Op: "write", Path: path, Err: err})
	}
	return nil
}

// Exists reports whether the path is there, readable or not. Where a directory above it may not be
// searched the answer is true: nobody said that it is missing.
func (h FS) Exists(path string) bool {
	info, err := h.stat(path)
	if err == nil {
		h.notes.seen(path, info.IsDir())
	}
	return err == nil || errors.Is(err, fs.ErrPermission)
}

func (h FS) stat(path string) (fs.FileInfo, error) {
	if h.tree != nil {
		return fs.Stat(h.tree, inTree(path))
	}
	return os.Stat(h.Path(path))
}

// Glob returns the host paths that match the pattern (path/filepath's syntax), in the order of the
// bytes: cpu10 stands before cpu2. No match is an empty result, not an error.
func (h FS) Glob(pattern string) ([]string, error) {
	match := h.globLive
	if h.tree != nil {
		match = h.globTree
	}
	found, err := match(pattern)
	if h.notes != nil {
		for _, p := range found {
			h.Exists(p)
		}
	}
	return found, err
}

func (h FS) globLive(pattern string) ([]string, error) {
	prefix := strings.TrimSuffix(filepath.Join("/", h.root), "/")
	found, err := filepath.Glob(quoteMeta(prefix) + filepath.Clean("/"+pattern))
	if err != nil {
		return nil, fmt.Errorf("match %q: %w", pattern, err)
	}
	for i, p := range found {
		found[i] = strings.TrimPrefix(p, prefix)
	}
	return found, nil
}

// ReadDir returns the names in a directory, sorted by their bytes.
func (h FS) ReadDir(path string) ([]string, error) {
	list := func() ([]fs.DirEntry, error) { return os.ReadDir(h.Path(path)) }
	if h.tree != nil {
		list = func() ([]fs.DirEntry, error) { return fs.ReadDir(h.tree, inTree(path)) }
	}
	entries, err := list()
	if err != nil {
		return nil, withHostPath(path, err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// Readlink returns the target of a symbolic link as it is written there.
func (h FS) Readlink(path string) (string, error) {
	if h.tree != nil {
		target, err := fs.ReadLink(h.tree, inTree(path))
		return target, withHostPath(path, err)
	}
	target, err := os.Readlink(h.Path(path))
	if err != nil {
		return "", withHostPath(path, err)
	}
	return target, nil
}

// withHostPath puts the path the caller asked for into an error of package os.
func withHostPath(path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: pe.Op, Path: path, Err: pe.Err}
	}
	return err
}

// quoteMeta escapes what Glob would take for a pattern in the root itself.
func quoteMeta(s string) string { return metaQuotes.Replace(s) }

var metaQuotes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
