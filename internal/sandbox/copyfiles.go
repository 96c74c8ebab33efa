package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"judged/internal/base/linux"
	"judged/internal/base/units"
	"judged/internal/sandbox/runtimes"
)

// identity is equal for a regular file as long as it does not change. It is "" for a file that cannot be recognized.
func identity(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d:%d:%d", st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano())
}

// takeFiles returns a copy of a program and its files, which may have at most maxBytes. Their times are set to now,
// as if they were made for this run.
func (c *Copies) takeFiles(files []File, slot Resources, maxBytes units.Bytes) (*copied, error) {
	var key strings.Builder
	fmt.Fprintf(&key, "files on %s", slot.CPUs)
	var infos []fs.FileInfo
	var size, bytes units.Bytes
	for _, f := range files {
		info, err := os.Stat(f.Path)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
		size += units.Bytes(info.Size())
		bytes += runtimes.Footprint(info.Size())
		fmt.Fprintf(&key, " %q %t %s", f.Name, f.Exec, identity(info))
	}
	if size > maxBytes {
		return nil, fmt.Errorf("copy program and files: %d bytes exceed sandbox.work_size, %d; raise it", size, maxBytes)
	}
	k, err := c.take(key.String(), bytes+runtimes.Footprint(0), func(k *copied) error {
		k.folder = rand.Text()
		return c.fillFolder(k, files, infos, slot)
	})
	if err != nil {
		return nil, err
	}
	if err := c.renew(k.folder, files); err != nil {
		return nil, errors.Join(err, c.release(k))
	}
	return k, nil
}

func (c *Copies) fillFolder(k *copied, files []File, infos []fs.FileInfo, slot Resources) error {
	if err := linux.MakeDir(c.folders, k.folder, 0o755, 0); err != nil {
		return err
	}
	return onNode(slot, func() error {
		for i, f := range files {
			if err := c.copyFile(k, f, infos[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Copies) copyFile(k *copied, f File, known fs.FileInfo) error {
	src, err := linux.Open(f.Path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer src.Close()
	mode := uint32(0o644)
	if f.Exec {
		mode = 0o755
	}
	if err := linux.MakeFile(c.folders, k.folder+"/"+f.Name, mode, 0, src); err != nil {
		return err
	}
	program, err := runtimes.Inspect(src, known.Size())
	if err != nil {
		return err
	}
	k.programs = append(k.programs, program)
	return unchanged(src, known)
}

// unchanged is called after a copy: if the file has not changed, the copy is consistent.
func unchanged(f *os.File, known fs.FileInfo) error {
	info, err := f.Stat()
	if err == nil && identity(info) != identity(known) {
		err = fmt.Errorf("copy %q: file changed during the copy; try again", f.Name())
	}
	return err
}

// renew sets the times of a folder and its files.
func (c *Copies) renew(folder string, files []File) error {
	now := time.Now()
	err := linux.SetModified(c.folders, folder, now)
	for _, f := range files {
		err = errors.Join(err, linux.SetModified(c.folders, folder+"/"+f.Name, now))
	}
	return err
}

// mount returns a read-only mount of a folder, for one run.
func (c *Copies) mount(k *copied) (*os.File, error) {
	return c.depot.clone(copiesPlace + "/" + k.folder)
}

// takeInput returns a copy of an open file. key is its identity, or "" for a copy that is not kept.
func (c *Copies) takeInput(f *os.File, info fs.FileInfo, key string, slot Resources) (*copied, error) {
	if key != "" {
		key = fmt.Sprintf("input on %s %s", slot.CPUs, key)
	}
	return c.take(key, runtimes.Footprint(info.Size()), func(k *copied) (err error) {
		if k.input, err = linux.MakeUnnamed(c.inputs); err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			_, err := io.Copy(k.input, struct{ io.Reader }{f}) // sendfile(2) refuses the null device
			return err
		}
		err = onNode(slot, func() error { return linux.CopyAll(int(k.input.Fd()), int(f.Fd())) })
		return errors.Join(err, unchanged(f, info))
	})
}
