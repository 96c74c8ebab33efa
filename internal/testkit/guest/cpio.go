package guest

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// archive writes the "newc" format of cpio, which the kernel unpacks as the initial root file system
// (Documentation/driver-api/early-userspace/buffer-format.rst). An entry is a header of fixed-width hexadecimal
// fields, the name with a zero byte, and the data; the last two are padded to 4 bytes.
type archive struct {
	w    io.Writer
	err  error // the first error; later writes have no effect
	ino  int
	dirs map[string]bool // already written: a parent comes before its children
}

func newArchive(w io.Writer) *archive { return &archive{w: w, dirs: map[string]bool{".": true}} }

const (
	modeDir     = 0o040000
	modeFile    = 0o100000
	modeSymlink = 0o120000
)

func (a *archive) entry(name string, mode uint32, size int64, data io.Reader) {
	a.ino++
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		a.ino, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, len(name)+1, 0)
	a.write(header + name + "\x00")
	a.pad(len(header) + len(name) + 1)
	if a.err == nil && data != nil {
		var n int64
		if n, a.err = io.Copy(a.w, io.LimitReader(data, size)); a.err == nil && n != size {
			a.err = fmt.Errorf("archive %q: got %d of %d bytes: %w", name, n, size, io.ErrUnexpectedEOF)
		}
	}
	a.pad(int(size % 4))
}

func (a *archive) write(s string) {
	if a.err == nil {
		_, a.err = io.WriteString(a.w, s)
	}
}

func (a *archive) pad(written int) { a.write("\x00\x00\x00"[:(4-written%4)%4]) }

// dir adds a folder and its parents.
func (a *archive) dir(name string) {
	name = relative(name)
	if a.dirs[name] {
		return
	}
	a.dir(path.Dir(name))
	a.dirs[name] = true
	a.entry(name, modeDir|0o755, 0, nil)
}

func (a *archive) bytes(name, text string, perm fs.FileMode) {
	name = relative(name)
	a.dir(path.Dir(name))
	a.entry(name, modeFile|uint32(perm.Perm()), int64(len(text)), strings.NewReader(text))
}

func (a *archive) file(name, host string) {
	if a.err != nil {
		return
	}
	f, err := os.Open(host)
	if err != nil {
		a.err = fmt.Errorf("archive %q: %w", name, err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", host)
	}
	if err != nil {
		a.err = fmt.Errorf("archive %q: %w", name, err)
		return
	}
	name = relative(name)
	a.dir(path.Dir(name))
	a.entry(name, modeFile|uint32(info.Mode().Perm()), info.Size(), f)
}

// tree adds the folder host with its folders, files and symbolic links.
func (a *archive) tree(name, host string) {
	if a.err != nil {
		return
	}
	a.err = filepath.WalkDir(host, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(host, at)
		if err != nil {
			return err
		}
		to := path.Join(name, filepath.ToSlash(rel))
		switch {
		case d.IsDir():
			a.dir(to)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(at)
			if err != nil {
				return err
			}
			a.entry(relative(to), modeSymlink|0o777, int64(len(target)), strings.NewReader(target))
		default:
			a.file(to, at)
		}
		return a.err
	})
}

// close ends the archive and returns the first error of any method.
func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, 0, nil)
	return a.err
}

// relative returns the name of a guest path in the archive, without the leading slash.
func relative(name string) string {
	return path.Clean(strings.TrimPrefix(path.Clean("/"+name), "/"))
}
