package runtimes

import (
	"path/filepath"
	"strings"
)

// loadedLater are libraries that glibc opens when it needs them: to end a
// thread (pthread_exit), and to look up users before 2.34.
var loadedLater = [...]string{"libgcc_s.so.1", "libnss_files.so.2"}

// loader adds a loader with the folders that it has for its own: it lies among
// the system's libraries, behind a link on systems that have those of several
// architectures.
func (w *walk) loader(path string) {
	real, ok := w.elf(path)
	if !ok {
		return
	}
	dir := filepath.Dir(real)
	w.defaults = append(w.defaults, dir, filepath.Join("/usr", dir), filepath.Dir(path), "/lib", "/usr/lib")
}

// needs adds the libraries of a program or of a library. rpath is what those who
// need it bring: the loader looks there as well, unless it has a RUNPATH.
func (w *walk) needs(l linkage, origins, rpath []string) {
	folders := expand(l.runpath, origins)
	if len(l.runpath) == 0 {
		rpath = append(expand(l.rpath, origins), rpath...)
		folders = rpath
	}
	for _, name := range l.libraries {
		w.library(name, folders, rpath)
	}
}

// library adds a library by its name, where the loader would find it, and what
// that needs.
func (w *walk) library(name string, folders, rpath []string) {
	if strings.Contains(name, "/") {
		w.linked(name, rpath)
		return
	}
	for _, dir := range folders {
		if w.linked(filepath.Join(dir, name), rpath) {
			return
		}
	}
	found := false
	for _, path := range w.cache[name] {
		found = w.linked(path, rpath) || found
	}
	for i := 0; i < len(w.defaults) && !found; i++ {
		found = w.linked(filepath.Join(w.defaults[i], name), rpath)
	}
}

// linked adds a library by its path, and reports whether it is there.
func (w *walk) linked(path string, rpath []string) bool {
	_, known := w.entries[path]
	if known {
		return true
	}
	real, info, ok := w.resolve(path)
	if !ok || !info.Mode().IsRegular() {
		return false
	}
	f := openRegular(real)
	if f == nil {
		return false
	}
	defer f.Close()
	// Nothing else may be had by calling it a library.
	l, ok := readLinkage(f)
	if ok && w.add(real, info) {
		w.needs(l, origins(path, real), rpath)
	}
	return ok
}

// elf adds a file that has to be one, and tells where it is.
func (w *walk) elf(path string) (string, bool) {
	real, _, ok := w.resolve(path)
	return real, ok && w.linked(path, nil)
}

// origins are what $ORIGIN stands for in a library: where it was found, and
// where it is.
func origins(path, real string) []string {
	found := filepath.Dir(path)
	if found == filepath.Dir(real) {
		return []string{found}
	}
	return []string{found, filepath.Dir(real)}
}

// expand puts the origins in the place of $ORIGIN.
func expand(folders, origins []string) []string {
	var all []string
	for _, dir := range folders {
		if !strings.Contains(dir, "$") {
			all = append(all, dir)
			continue
		}
		for _, o := range origins {
			all = append(all, strings.NewReplacer("$ORIGIN", o, "${ORIGIN}", o).Replace(dir))
		}
	}
	return all
}
