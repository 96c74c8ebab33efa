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

// origin is a folder that others may write to. Each file is copied through one open descriptor before it is used,
// because after a check its name could lead to another file.
type origin struct {
	files fs.FS
	// open opens a file without blocking, for example on a pipe without a writer.
	open func(name string) (*os.File, error)
	// follows means that links are followed to any place, as in a folder that the user gives. Otherwise links out of
	// the folder are errors, because archives are not trusted and a daemon running as root can read all files.
	follows bool
}

const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

// beneath returns an origin whose links must lead to files beneath root.
func beneath(root *os.Root) origin {
	return origin{files: root.FS(), open: func(name string) (*os.File, error) { return root.OpenFile(name, openFlags, 0) }}
}

// following returns an origin whose links are followed. The caller must close the file, which keeps the folder open.
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

// brokenLink is a link that does not lead to a file. target is where it leads in the package; it is empty if unknown.
type brokenLink struct{ name, target, why string }

// walker lists the files of a package.
type walker struct {
	ctx    context.Context // stops the walk
	from   origin
	seen   int
	names  []string
	broken []brokenLink
}

// list lists a folder. above are the folders that contain it.
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
			return fmt.Errorf("more than %d entries; remove files that are not part of the problem", maxEntries)
		}
		if isOfTools(e.Name()) && path.Join(name, e.Name()) != timeLimitFile {
			continue
		}
		if err := w.entry(path.Join(name, e.Name()), e.Type()&fs.ModeSymlink != 0, above); err != nil {
			return err
		}
	}
	return nil
}

// isOfTools reports whether a name belongs to other tools; the formats ignore such names.
func isOfTools(name string) bool {
	return hidden(name) || name == "__MACOSX" || name == "__pycache__"
}

func (w *walker) entry(name string, isLink bool, above []fs.FileInfo) error {
	info, err := fs.Stat(w.from.files, name)
	isAbove := func(f fs.FileInfo) bool { return os.SameFile(f, info) }
	switch {
	case isLink && leadsNowhere(err):
		target, _ := fs.ReadLink(w.from.files, name) // only for findings
		w.broken = append(w.broken, brokenLink{name, path.Join(path.Dir(name), target), "is a broken link"})
		return nil
	case err != nil && isLink:
		return fmt.Errorf("%q is a link that leads out of the package; replace it with the file", name)
	case err != nil:
		return err
	case info.IsDir() && isLink && slices.ContainsFunc(above, isAbove):
		w.broken = append(w.broken, brokenLink{name, "", "is a link to a folder that contains it"})
		return nil
	case info.IsDir() && (!isLink || w.from.follows):
		return w.list(name, append(slices.Clip(above), info))
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is neither a file nor a link to one; remove it", name)
	}
	w.names = append(w.names, name)
	return nil
}

func leadsNowhere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR)
}

// checkBroken fails if a broken link is in place of a file with settings or of a test. One in place of a submission is no
// program.
func (p *Package) checkBroken(t *tree) error {
	settings := []string{"problem.yaml", "problem.xml", domjudgeFile, timeLimitFile, submissionsFile}
	folders := []string{"data"}
	if t.has(sinolFile) {
		folders = []string{"data", "in", "out"}
	}
	for _, l := range t.broken {
		top, _, _ := strings.Cut(l.name, "/")
		ofTest := slices.Contains(folders, top) && !isForPeople(l.name)
		if ofTest || slices.Contains(settings, l.name) {
			return fmt.Errorf("%q %s; replace it with the file", l.name, l.why)
		}
		if strings.HasPrefix(l.name, "submissions/") && strings.Count(l.name, "/") == 2 {
			p.NotPrograms++
		}
	}
	return nil
}

// findBroken adds findings for broken links, except those to files of tests that are not made yet.
func (p *Package) findBroken(t *tree) {
	made := map[string]bool{}
	for _, test := range p.Tests {
		made[test.Input], made[test.Answer] = true, true
	}
	for _, l := range t.broken {
		if !made[t.path(l.target)] && !t.used[l.target] { // input/input0.txt of CMS may be a copy of a sample
			p.find("%s %s; it is ignored", l.name, l.why)
		}
	}
}
