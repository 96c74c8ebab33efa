package runtimes

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"judged/internal/base/units"
)

// Limits of one closure. The largest known ones are a JDK with 190 MB, and Python with 4000 files.
const (
	maxBytes = 512 << 20
	maxFiles = 50_000
)

// walk collects the files that one program needs. It skips files that are missing, too large or hidden: the run
// will fail on those.
type walk struct {
	places   Places
	cache    map[string][]string // libraries in the loader's cache
	defaults []string            // folders that loaders search last
	entries  map[string]Entry
	folders  map[string]bool        // already visited
	real     map[string]fs.FileInfo // folders, by a path without links
	linkable map[string]bool        // paths that were looked up as libraries: whether they are libraries
	left     units.Bytes            // remaining size
	failure                         // if set, the result must not be used
}

func newWalk(p Places) *walk {
	text, err := os.ReadFile(p.Cache) // without a cache only the default folders are searched
	w := &walk{places: p, cache: readCache(text), entries: map[string]Entry{}, folders: map[string]bool{},
		real: map[string]fs.FileInfo{}, linkable: map[string]bool{}, left: maxBytes}
	w.note(err)
	return w
}

// program adds a program, given by its path or a name to look up, and everything that it needs. It returns the
// path of the program, or "".
func (w *walk) program(name string) string {
	path := name
	if !strings.Contains(name, "/") {
		path = w.lookUp(name)
	}
	real, info, ok := w.resolve(path)
	if !ok || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return ""
	}
	// Scripts can name each other as interpreters in a cycle.
	if !w.add(real, info) {
		return path
	}
	if f := w.open(real); f != nil {
		defer f.Close()
		w.dependencies(readDependencies(w.reader(f)), []string{filepath.Dir(real)})
	}
	w.installation(real)
	return path
}

// dependencies adds the dependencies of an executable file. origins are the values of $ORIGIN; a contestant's
// file has no origin on the host.
func (w *walk) dependencies(d dependencies, origins []string) {
	for _, name := range d.Interpreters {
		w.program(name)
	}
	if d.Linkage.loader != "" {
		w.loader(d.Linkage.loader)
		for _, name := range loadedLater {
			w.library(name, nil, nil)
		}
	}
	for _, o := range opened {
		if d.Linkage.loader != "" || slices.Contains(d.Opened, o.text) {
			w.matching(o.folders)
		}
	}
	w.libraries(d.Linkage, origins, nil)
}

// installation adds the folders of an interpreter, which no header names: /usr/lib/python3.11 for
// /usr/bin/python3.11, and lib and conf of an interpreter with its own prefix, such as a JVM. Other files are
// listed in specials, by the name of the interpreter.
func (w *walk) installation(real string) {
	name, bin := filepath.Base(real), filepath.Dir(real)
	if filepath.Base(bin) == "bin" {
		switch base := filepath.Dir(bin); base {
		case "/", "/usr", "/usr/local":
			w.folder(filepath.Join(base, "lib", name))
		default:
			w.folder(filepath.Join(base, "lib"))
			w.folder(filepath.Join(base, "conf"))
		}
	}
	for _, s := range specials {
		if !s.is(name) {
			continue
		}
		w.matching(s.folders)
		for _, pattern := range s.files {
			for _, path := range w.glob(pattern) {
				w.single(path)
			}
		}
		for _, tool := range s.programs {
			w.program(tool)
		}
		for _, pattern := range s.libraries {
			for _, path := range w.glob(pattern) {
				w.linked(path, nil)
			}
		}
	}
}

// matching adds the folders that match one of the patterns.
func (w *walk) matching(patterns []string) {
	for _, pattern := range patterns {
		for _, path := range w.glob(pattern) {
			w.folder(path)
		}
	}
}

// glob returns the paths that match a pattern. Paths without a wildcard in the last parts may not exist. Unlike
// filepath.Glob it records read errors of the host.
func (w *walk) glob(pattern string) []string {
	found := []string{"/"}
	for part := range strings.SplitSeq(pattern[1:], "/") {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(part, "*?[") {
				next = append(next, filepath.Join(dir, part))
				continue
			}
			entries, err := os.ReadDir(dir)
			w.note(err)
			for _, e := range entries {
				if ok, _ := filepath.Match(part, e.Name()); ok { // the patterns are valid
					next = append(next, filepath.Join(dir, e.Name()))
				}
			}
		}
		found = next
	}
	return found
}

// folder adds a folder with everything below it, and the dependencies of the libraries and programs in it.
func (w *walk) folder(path string) {
	if real, info, ok := w.resolve(path); ok && info.IsDir() {
		w.tree(real)
	}
}

func (w *walk) tree(dir string) {
	if w.folders[dir] || dir == leapSeconds {
		return
	}
	w.folders[dir] = true
	all, err := os.ReadDir(dir)
	w.note(err)
	if err != nil {
		return
	}
	for _, e := range all {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		w.note(err)
		switch {
		case err != nil: // deleted in the meantime
		case info.IsDir():
			w.tree(path)
		case info.Mode()&fs.ModeSymlink != 0:
			w.link(path)
		case info.Mode().IsRegular():
			w.member(path, info)
		}
	}
}

// link adds a symbolic link with its target. It does not follow a link to a parent folder, which would add half the
// host.
func (w *walk) link(path string) {
	real, info, ok := w.resolve(path)
	switch {
	case !ok:
	case info.Mode().IsRegular():
		w.member(real, info)
	case info.IsDir() && w.places.shown(real) && !strings.HasPrefix(path, real+"/"):
		w.tree(real)
	}
}

// member adds a file of a folder. It does not add the interpreters of scripts: one of Python's scripts would
// add the shell and its tools.
func (w *walk) member(path string, info fs.FileInfo) {
	if strings.HasSuffix(path, ".a") || !w.add(path, info) {
		return // archives are only for linking, and Python has 25 MB of them
	}
	if name := filepath.Base(path); info.Mode()&0o111 == 0 && !strings.Contains(name, ".so") &&
		!strings.HasSuffix(name, ".node") {
		return
	}
	if filepath.Base(filepath.Dir(path)) == conversions {
		w.library(cLibrary, nil, nil)
	} else if f := w.open(path); f != nil {
		defer f.Close()
		l, _ := readLinkage(w.reader(f))
		w.libraries(l, []string{filepath.Dir(path)}, nil)
	}
}

// open opens a regular file, or returns nil.
func (w *walk) open(path string) *os.File {
	f, err := openRegular(path)
	w.note(err)
	return f
}

// single adds a file without its dependencies.
func (w *walk) single(path string) {
	if real, info, ok := w.resolve(path); ok && info.Mode().IsRegular() {
		w.add(real, info)
	}
}

// add adds a file, and reports whether it was added. It does not add a file that is already there, exceeds the
// limits, or is not readable by a contestant's user.
func (w *walk) add(real string, info fs.FileInfo) bool {
	size := Footprint(info.Size())
	if _, ok := w.entries[real]; ok || !w.places.shown(real) || info.Mode()&0o005 == 0 || size > w.left ||
		len(w.entries) >= maxFiles {
		return false
	}
	w.left -= size
	w.entries[real] = newEntry(real, info)
	return true
}

// maxLinks is how many links the kernel follows for one path (MAXSYMLINKS).
const maxLinks = 40

// resolve follows a path link by link, within the visible files, and adds the links if the path exists. The
// result contains no link, because links can give a file any number of names.
func (w *walk) resolve(path string) (string, fs.FileInfo, bool) {
	if !filepath.IsAbs(path) {
		return "", nil, false
	}
	var links []Entry
	var info fs.FileInfo
	at, rest := "/", strings.Split(path, "/")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		next := filepath.Join(at, name) // also correct for "..", because at contains no link
		if known := w.real[next]; known != nil {
			at, info = next, known
			continue
		}
		shown := w.places.shown(next)
		if !shown && !w.places.leadsTo(next) && next != "/" {
			return "", nil, false
		}
		var err error
		if info, err = os.Lstat(next); err != nil {
			w.note(err)
			return "", nil, false
		}
		if info.IsDir() {
			w.real[next] = info
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(next)
		w.note(err)
		if err != nil || len(links) == maxLinks || !shown {
			return "", nil, false
		}
		e := newEntry(next, info)
		e.Target = target
		links = append(links, e)
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if info == nil || !w.places.shown(at) {
		return "", nil, false
	}
	for _, e := range links {
		w.entries[e.Path] = e
	}
	return at, info, true
}
