package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"judged/internal/base/linux"
	"judged/internal/sandbox/initproc"
)

// putFolders adds to the box what a program of the jury finds there: links to its open files, by which it can open
// them again as often as it likes without a copy or a mount of them, and a folder that it may write to.
func (s *Sandbox) putFolders(spec Spec) error {
	for i, o := range spec.Open {
		if err := linux.MakeLink(s.box, o.Name, fmt.Sprintf("/proc/self/fd/%d", initproc.FirstOpen+i)); err != nil {
			return err
		}
	}
	if spec.Folder == "" {
		return nil
	}
	return linux.MakeDir(s.box, spec.Folder, 0o755, s.uid)
}

// OpenFile opens a file that the run left in its box; nil is none. Links are not followed, and what is no regular file
// is not there. It is called between Run and Close, and what it returns outlives the sandbox.
func (s *Sandbox) OpenFile(name string) (*os.File, error) {
	f, err := linux.OpenBeneath(s.box, name)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENXIO) {
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

// ReadFile returns the first bytes of a file that the run left in its box, at most the given number; ok is whether
// there is such a file.
func (s *Sandbox) ReadFile(name string, most int64) (content []byte, ok bool, err error) {
	f, err := s.OpenFile(name)
	if f == nil || err != nil {
		return nil, false, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, most))
	return content, err == nil, err
}

// IsBoxFull reports whether there is no room left for a further page or a further file in the box.
func (s *Sandbox) IsBoxFull() (bool, error) {
	free, err := linux.FreeSpace(fmt.Sprintf("/proc/self/fd/%d", s.box.Fd()))
	return free.Bytes == 0 || free.Inodes == 0, err
}
