package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"judged/internal/base/linux"
	"judged/internal/sandbox/initproc"
)

// putFolders adds to the box what a jury program needs: links to its open files, through which it can open them any
// number of times without a copy or a mount, and a folder that it may write to.
func (s *Sandbox) putFolders(spec Spec) error {
	for i, o := range spec.Open {
		if o.Name == "" {
			continue
		}
		if err := linux.MakeLink(s.box, o.Name, fmt.Sprintf("/proc/self/fd/%d", initproc.FirstOpen+i)); err != nil {
			return err
		}
	}
	if spec.Folder == "" {
		return nil
	}
	if err := linux.MakeDir(s.box, spec.Folder, 0o755, s.uid); err != nil {
		return err
	}
	if spec.FolderFrom == nil {
		return nil
	}
	return s.copyFolder(spec.FolderFrom, spec.Folder)
}

// copyFolder copies regular files and folders; it follows no link. Nobody else may change from meanwhile.
func (s *Sandbox) copyFolder(from *os.File, to string) error {
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", from.Fd()))
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case entry.IsDir():
			return linux.MakeDir(s.box, to+"/"+name, 0o755, s.uid)
		case !entry.Type().IsRegular():
			return nil
		}
		src, err := root.Open(name)
		if err != nil {
			return err
		}
		defer src.Close()
		return linux.MakeFile(s.box, to+"/"+name, 0o644, s.uid, src)
	})
}

// OpenFolder opens a folder that the run left in its box, or returns nil if it does not exist. It follows no link. The
// folder outlives the sandbox.
func (s *Sandbox) OpenFolder(name string) (*os.File, error) {
	f, err := linux.OpenBeneath(s.box, name)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return f, err
}

// OpenFile opens a file that the run left in its box, or returns nil if the file does not exist. It does not follow
// links, and ignores everything but regular files. Call it between Run and Close; the file outlives the sandbox.
func (s *Sandbox) OpenFile(name string) (*os.File, error) {
	f, err := linux.OpenBeneath(s.box, name)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EACCES) { // a socket; a device
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFile returns at most the first maxBytes bytes of a file that the run left in its box; ok reports whether the
// file exists.
func (s *Sandbox) ReadFile(name string, maxBytes int64) (content []byte, ok bool, err error) {
	f, err := s.OpenFile(name)
	if f == nil || err != nil {
		return nil, false, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, maxBytes))
	return content, err == nil, err
}

// IsBoxFull reports whether the box has no space for another page or no inode for another file.
func (s *Sandbox) IsBoxFull() (bool, error) {
	free, err := linux.FreeSpace(fmt.Sprintf("/proc/self/fd/%d", s.box.Fd()))
	return free.Bytes == 0 || free.Inodes == 0, err
}
