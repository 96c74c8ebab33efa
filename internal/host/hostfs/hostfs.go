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

// FS provides the files of a host below a root directory. The zero value is the live machine. An FS is a small
// value that can be copied and used concurrently.
type FS struct {
	root  string
	tree  fs.FS      // if not nil, used instead of root
	notes *Recording // if not nil, records all reads
}

// New returns the host below root: "/" for the live machine, another directory in tests. Symbolic links in root
// must be relative, because the kernel resolves absolute links outside root.
func New(root string) FS {
	return FS{root: filepath.Clean("/" + strings.TrimPrefix(absolute(root), "/"))}
}

func absolute(root string) string {
	if root == "" {
		return "/"
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		// Happens only if the working directory was deleted. Later reads report the path.
		return root
	}
	return abs
}

// Path returns the real path of a host path.
func (h FS) Path(path string) string {
	if !filepath.IsAbs(path) {
		path = "/" + path
	}
	path = filepath.Clean(path)
	if h.root == "" || h.root == "/" {
		return path // the live machine, where this function is called for each run
	}
	return filepath.Join(h.root, path)
}

// firstRead is large enough for nearly all kernel files: a sysfs attribute has at most one page, and
// /proc/<pid>/stat and status are much smaller.
const firstRead = 4 << 10

// buffers are reused: most files have a few bytes, and examining a host reads a thousand files.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, firstRead); return &b }}

// ReadFile returns the whole content of a file. The sizes reported by stat are wrong for kernel files (0 or
// 4096), so it reads until the end with a doubling buffer. The kernel generates the content on each read, so
// few large reads keep it consistent.
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

// Read returns the content of a file without surrounding white space.
func (h FS) Read(path string) (string, error) {
	b, err := h.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

// ReadInt returns the content of a file as a decimal number. For other content, such as "max", the error
// contains the path and the content.
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

// Write writes value with exactly one write(2), because a kernel file treats each write as a separate command.
// It never creates the file. A short write is an error, because the kernel received only a part of the command.
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

// Exists reports whether path exists, even if it is unreadable. It returns true if a parent directory cannot be
// searched, because the file is not known to be missing.
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

// Glob returns the host paths that match pattern (see path/filepath) in byte order: cpu10 comes before cpu2. It
// is not an error if none matches.
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
	found, err := filepath.Glob(QuoteMeta(prefix) + filepath.Clean("/"+pattern))
	if err != nil {
		return nil, fmt.Errorf("match %q: %w", pattern, err)
	}
	for i, p := range found {
		found[i] = strings.TrimPrefix(p, prefix)
	}
	return found, nil
}

// ReadDir returns the names in a directory in byte order.
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

// Readlink returns the target of a symbolic link as stored.
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

// withHostPath replaces the path in an error of package os by the caller's path.
func withHostPath(path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: pe.Op, Path: path, Err: pe.Err}
	}
	return err
}

// QuoteMeta escapes the metacharacters of Glob in a path.
func QuoteMeta(path string) string { return metaQuotes.Replace(path) }

var metaQuotes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
