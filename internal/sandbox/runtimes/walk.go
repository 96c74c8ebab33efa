package runtimes

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"judged/internal/base/units"
)

// The most that one closure has. The largest here, a JDK, has 190 MB, and
// Python's 4000 files.
const (
	maxBytes = 512 << 20
	maxFiles = 50_000
)

// walk collects what one program needs. What is missing, too large or not to be
// seen is passed over: it is the run that will fail over it.
type walk struct {
	places   Places
	cache    map[string][]string // of the loader
	defaults []string            // folders where loaders look in the end
	entries  map[string]Entry
	folders  map[string]bool // those that were looked at
	left     units.Bytes     // that may still come
}

func newWalk(p Places) *walk {
	text, _ := os.ReadFile(p.Cache) // a host without one has no libraries in odd places
	return &walk{places: p, cache: readCache(text), entries: map[string]Entry{}, folders: map[string]bool{}, left: maxBytes}
}

// program adds a program, by its path or by a name to be looked up, with all
// that it needs, and tells where it is.
func (w *walk) program(name string) string {
	path := name
	if !strings.Contains(name, "/") {
		path = w.places.lookUp(name)
	}
	real, info, ok := w.resolve(path)
	if !ok || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return ""
	}
	// Scripts may name each other in circles.
	if !w.add(real, info) {
		return path
	}
	w.ask(readAsk(real), []string{filepath.Dir(real)})
	w.installation(real)
	return path
}

// ask adds what a file asks for that is executed. origins are the folders that
// it calls its own; a contestant's file has none of the host's.
func (w *walk) ask(a ask, origins []string) {
	for _, name := range a.Interpreters {
		w.program(name)
	}
	if a.Linkage.loader != "" {
		w.loader(a.Linkage.loader)
		for _, name := range loadedLater {
			w.library(name, nil, nil)
		}
		for _, path := range locales {
			w.folder(path)
		}
	}
	w.needs(a.Linkage, origins, nil)
}

// installation adds the folders that an interpreter has for itself, which no
// header names: /usr/lib/python3.11 of /usr/bin/python3.11, and lib and conf of
// one that has a place of its own, such as a Java machine's. Others are known
// by name.
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
		for _, pattern := range s.folders {
			found, _ := filepath.Glob(pattern) // the patterns are good
			for _, path := range found {
				w.folder(path)
			}
		}
		for _, tool := range s.programs {
			w.program(tool)
		}
		for _, pattern := range s.libraries {
			found, _ := filepath.Glob(pattern)
			for _, path := range found {
				w.linked(path, nil)
			}
		}
	}
}

// folder adds a folder with all below it, and what the libraries and programs
// there need.
func (w *walk) folder(path string) {
	if real, info, ok := w.resolve(path); ok && info.IsDir() {
		w.below(real)
	}
}

func (w *walk) below(dir string) {
	if w.folders[dir] {
		return
	}
	w.folders[dir] = true
	all, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range all {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		switch {
		case err != nil: // it has gone
		case info.IsDir():
			w.below(path)
		case info.Mode()&fs.ModeSymlink != 0:
			w.behind(path)
		case info.Mode().IsRegular():
			w.member(path, info)
		}
	}
}

// behind adds a link with what it leads to; one upwards would add half the host.
func (w *walk) behind(link string) {
	real, info, ok := w.resolve(link)
	switch {
	case !ok:
	case info.Mode().IsRegular():
		w.member(real, info)
	case info.IsDir() && w.places.shown(real) && !strings.HasPrefix(link, real+"/"):
		w.below(real)
	}
}

// member adds a file of a folder. Scripts there bring no interpreter: one of
// Python's would bring the shell and its tools.
func (w *walk) member(path string, info fs.FileInfo) {
	if strings.HasSuffix(path, ".a") || !w.add(path, info) {
		return // for those who link programs, and Python has 25 MB of it
	}
	if name := filepath.Base(path); info.Mode()&0o111 == 0 && !strings.Contains(name, ".so") && !strings.HasSuffix(name, ".node") {
		return
	}
	if f := openRegular(path); f != nil {
		defer f.Close()
		l, _ := readLinkage(f)
		w.needs(l, []string{filepath.Dir(path)}, nil)
	}
}

// plain adds a file and nothing that it needs.
func (w *walk) plain(path string) {
	if real, info, ok := w.resolve(path); ok && info.Mode().IsRegular() {
		w.add(real, info)
	}
}

// add adds a file, and reports whether it is there and new. One that a
// contestant's user cannot read is as good as none.
func (w *walk) add(real string, info fs.FileInfo) bool {
	size := Footprint(info.Size())
	if _, ok := w.entries[real]; ok || !w.places.shown(real) || info.Mode()&0o005 == 0 || size > w.left || len(w.entries) >= maxFiles {
		return false
	}
	w.left -= size
	w.entries[real] = newEntry(real, info)
	return true
}

// maxLinks is how many links the kernel follows on the way to one file
// (MAXSYMLINKS).
const maxLinks = 40

// resolve follows a path link by link, within what programs see, and adds the
// links if it leads somewhere. The result has no link in it: links can
// give a file names without end.
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
		next := filepath.Join(at, name) // ".." too: there is no link in at
		shown := w.places.shown(next)
		if !shown && !w.places.leadsTo(next) && next != "/" {
			return "", nil, false
		}
		var err error
		if info, err = os.Lstat(next); err != nil {
			return "", nil, false
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(next)
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
