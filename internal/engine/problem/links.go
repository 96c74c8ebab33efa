package problem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// origin is a folder of files that others may write to. What is judged is a copy of each file, made through one open
// descriptor: a name that was checked can lead to another file by the time it is opened again.
type origin struct {
	files fs.FS
	// open opens a file without waiting, such as for the writer of a pipe.
	open func(name string) (*os.File, error)
	// follows says that links lead wherever they do, as those of a folder that the user names. Otherwise those that lead
	// out of the folder are errors: archives come from strangers, and a root daemon can read all files.
	follows bool
}

const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

// beneath is a folder whose links lead to files beneath it.
func beneath(root *os.Root) origin {
	return origin{files: root.FS(), open: func(name string) (*os.File, error) { return root.OpenFile(name, openFlags, 0) }}
}

// following is a folder whose links are followed. Its caller must close the file, which keeps the folder itself what it
// is.
func following(root *os.Root) (origin, *os.File, error) {
	f, err := root.Open(".")
	if err != nil {
		return origin{}, nil, err
	}
	dir := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	open := func(name string) (*os.File, error) {
		f, err := os.OpenFile(dir+"/"+name, openFlags, 0)
		if wrong := new(fs.PathError); errors.As(err, &wrong) {
			wrong.Path = name
		}
		return f, err
	}
	return origin{files: os.DirFS(dir), open: open, follows: true}, f, nil
}

// brokenLink is a link that leads to no file.
type brokenLink struct{ name, why string }

// walker lists the files of a package.
type walker struct {
	ctx    context.Context // ends it
	from   origin
	seen   int
	names  []string
	broken []brokenLink
}

// list lists a folder, which is in those above it.
func (w *walker) list(name string, above []fs.FileInfo) error {
	entries, err := fs.ReadDir(w.from.files, name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.seen++; w.seen > maxEntries {
			return fmt.Errorf("more than %d entries; leave out what is not part of the problem", maxEntries)
		}
		// The formats ignore such names: they belong to other tools.
		if other := hidden(e.Name()) || e.Name() == "__MACOSX"; other && path.Join(name, e.Name()) != timeLimitFile {
			continue
		}
		if err := w.entry(path.Join(name, e.Name()), e.Type()&fs.ModeSymlink != 0, above); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(name string, isLink bool, above []fs.FileInfo) error {
	info, err := fs.Stat(w.from.files, name)
	isAbove := func(f fs.FileInfo) bool { return os.SameFile(f, info) }
	switch {
	case isLink && w.from.follows && leadsNowhere(err):
		w.broken = append(w.broken, brokenLink{name, "is a link that leads nowhere"})
		return nil
	case err != nil && isLink:
		return fmt.Errorf("%q is a link that leads out of the package or nowhere; put the file in its place", name)
	case err != nil:
		return err
	case info.IsDir() && isLink && slices.ContainsFunc(above, isAbove):
		w.broken = append(w.broken, brokenLink{name, "is a link to a folder that it is in"})
		return nil
	case info.IsDir() && (!isLink || w.from.follows):
		return w.list(name, append(slices.Clip(above), info))
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is not a file, nor a link to one; leave it out", name)
	}
	w.names = append(w.names, name)
	return nil
}

func leadsNowhere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR)
}

// reportBroken names links that lead to no file. One in the place of what says how to judge is an error.
func (p *Package) reportBroken(links []brokenLink) error {
	settings := []string{"problem.yaml", "problem.xml", domjudgeFile, timeLimitFile, submissionsFile}
	for _, l := range links {
		inData := strings.HasPrefix(l.name, "data/") || l.name == "data"
		if inData && !isForPeople(l.name) || slices.Contains(settings, l.name) {
			return fmt.Errorf("%q %s; put the file in its place", l.name, l.why)
		}
		p.find("%s %s; it is left out", l.name, l.why)
		if strings.HasPrefix(l.name, "submissions/") && strings.Count(l.name, "/") == 2 {
			p.NotPrograms++
		}
	}
	return nil
}
