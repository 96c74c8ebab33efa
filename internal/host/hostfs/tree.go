package hostfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing/fstest"
)

// Of returns a read-only host whose files are in a tree: an unpacked capture, or a machine described by a test.
// Files without permission bits are reported as unreadable.
func Of(tree fs.FS) FS { return FS{tree: tree} }

// OpenCaptured opens the output of judged doctor --capture, or a directory unpacked from it. A directory is
// read through os.Root, so that links cannot leave it.
func OpenCaptured(name string) (FS, error) {
	info, err := os.Stat(name)
	if err != nil {
		return FS{}, fmt.Errorf("open captured host: %w", err)
	}
	if info.IsDir() {
		root, err := os.OpenRoot(name)
		if err != nil {
			return FS{}, fmt.Errorf("open captured host: %w", err)
		}
		return Of(root.FS()), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return FS{}, fmt.Errorf("open captured host: %w", err)
	}
	defer f.Close()
	tree, err := ReadArchive(f)
	if err != nil {
		return FS{}, fmt.Errorf("open captured host %q: %w", name, err)
	}
	return Of(tree), nil
}

// Live reports whether h is the running machine, whose files can change.
func (h FS) Live() bool { return h.tree == nil && filepath.Join("/", h.root) == "/" }

// Ask returns a value that only a system call provides. On the live machine it calls live; on a captured host
// it reads the file in which the capture stored the value.
func (h FS) Ask(name string, live func() ([]byte, error)) ([]byte, error) {
	if !h.Live() {
		return h.ReadFile(name)
	}
	b, err := live()
	h.notes.file(name, b, err)
	return b, err
}

// inTree converts a host path into a path of package fs, without the leading slash.
func inTree(name string) string {
	if name = strings.TrimPrefix(path.Clean("/"+name), "/"); name == "" {
		return "."
	}
	return name
}

func (h FS) readTree(name string) ([]byte, error) {
	info, err := fs.Stat(h.tree, inTree(name))
	switch {
	case err != nil:
		return nil, withHostPath(name, err)
	case info.IsDir():
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR}
	case info.Mode().Perm() == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	b, err := fs.ReadFile(h.tree, inTree(name))
	return b, withHostPath(name, err)
}

func (h FS) globTree(pattern string) ([]string, error) {
	found, err := fs.Glob(h.tree, inTree(pattern))
	if err != nil {
		return nil, fmt.Errorf("match %q: %w", pattern, err)
	}
	for i, p := range found {
		found[i] = "/" + p
	}
	return found, nil
}

// Recording holds what was read from a host. The zero value is ready for use. It is safe for concurrent use.
type Recording struct {
	mu    sync.Mutex
	files fstest.MapFS
}

// Record returns the same host with a Recording of all further reads.
func (h FS) Record() (FS, *Recording) {
	h.notes = &Recording{files: fstest.MapFS{}}
	return h, h.notes
}

// Files returns a copy of the recording: contents by path, and directories that were seen.
func (r *Recording) Files() fstest.MapFS {
	r.mu.Lock()
	defer r.mu.Unlock()
	files := fstest.MapFS{}
	for name, f := range r.files {
		files[name] = &fstest.MapFile{Data: bytes.Clone(f.Data), Mode: f.Mode}
	}
	return files
}

// file records the result of a read. It ignores missing files and inactive drivers (EAGAIN): both mean that the
// file is not a source.
func (r *Recording) file(name string, content []byte, err error) {
	if r == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ESRCH) {
		return
	}
	f := &fstest.MapFile{Data: bytes.Clone(content), Mode: 0o444}
	switch {
	case errors.Is(err, syscall.EISDIR):
		f = &fstest.MapFile{Mode: fs.ModeDir | 0o555}
	case err != nil:
		f = &fstest.MapFile{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[inTree(name)] = f
}

// seen records that a path exists, unless its content is known.
func (r *Recording) seen(name string, dir bool) {
	if r == nil {
		return
	}
	mode := fs.FileMode(0o444)
	if dir {
		mode = fs.ModeDir | 0o555
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.files[inTree(name)]; !known && inTree(name) != "." {
		r.files[inTree(name)] = &fstest.MapFile{Mode: mode}
	}
}
