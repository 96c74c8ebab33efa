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

// Of returns a host whose files lie in a tree and not on this machine: an unpacked capture, or the
// description of a machine that a test wrote. It is read-only. A file without any permission bit
// answers like one that may not be read.
func Of(tree fs.FS) FS { return FS{tree: tree} }

// OpenCaptured opens what judged doctor --capture wrote, or a directory that was made from it. A
// directory is read through os.Root, so that no link in it leads out of it.
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

// Live reports whether this is the machine itself, which a second look finds changed.
func (h FS) Live() bool { return h.tree == nil && filepath.Join("/", h.root) == "/" }

// Ask is for the few facts that only a system call provides. On the live machine the call answers; a
// captured host answers from the file under which the capture kept it.
func (h FS) Ask(name string, live func() ([]byte, error)) ([]byte, error) {
	if !h.Live() {
		return h.ReadFile(name)
	}
	b, err := live()
	h.notes.file(name, b, err)
	return b, err
}

// inTree turns a host path into one of package fs, which knows no leading slash.
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

// Recording is what was read of a host. The zero value is ready; it is safe for many goroutines.
type Recording struct {
	mu    sync.Mutex
	files fstest.MapFS
}

// Record returns the same host, which from now on notes all that is read of it.
func (h FS) Record() (FS, *Recording) {
	h.notes = &Recording{files: fstest.MapFS{}}
	return h, h.notes
}

// Files returns a copy of the notes: contents by path, and directories that were seen.
func (r *Recording) Files() fstest.MapFS {
	r.mu.Lock()
	defer r.mu.Unlock()
	files := fstest.MapFS{}
	for name, f := range r.files {
		files[name] = &fstest.MapFile{Data: bytes.Clone(f.Data), Mode: f.Mode}
	}
	return files
}

// file notes the outcome of a read. What is not there leaves nothing behind, and neither does a
// driver that is not in charge (EAGAIN): both are answers that mean "not a source".
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

// seen notes that a path exists, unless more is known of it.
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
