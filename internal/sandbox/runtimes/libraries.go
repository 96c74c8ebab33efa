package runtimes

import (
	"path/filepath"
	"strings"
)

// loadedLater are libraries that glibc opens on demand: to end a thread (pthread_exit), and to look up users
// before 2.34.
var loadedLater = [...]string{"libgcc_s.so.1", "libnss_files.so.2"}

// loader adds a loader and its default folders. The loader is in a folder of the system's libraries, which is
// behind a link on systems with several architectures.
func (w *walk) loader(path string) {
	real, ok := w.elf(path)
	if !ok {
		return
	}
	dir := filepath.Dir(real)
	w.defaults = append(w.defaults, dir, filepath.Join("/usr", dir), filepath.Dir(path), "/lib", "/usr/lib")
}

// libraries adds the libraries of a program or of a library. rpath is the RPATH of the files that need it: the
// loader also searches there, unless the file has a RUNPATH.
func (w *walk) libraries(l linkage, origins, rpath []string) {
	folders := expand(l.runpath, origins)
	if len(l.runpath) == 0 {
		rpath = append(expand(l.rpath, origins), rpath...)
		folders = rpath
	}
	for _, name := range l.libraries {
		w.library(name, folders, rpath)
	}
}

// library adds a library, given by its name, from where the loader would find it, and the libraries that it
// needs.
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

// linked adds a library, given by its path, and reports whether it exists.
func (w *walk) linked(path string, rpath []string) bool {
	if _, known := w.linkable[path]; !known {
		w.linkable[path] = true // until it is read: libraries can need each other
		w.linkable[path] = w.readLibrary(path, rpath)
	}
	return w.linkable[path]
}

func (w *walk) readLibrary(path string, rpath []string) bool {
	if _, known := w.entries[path]; known {
		return true
	}
	real, info, ok := w.resolve(path)
	if !ok || !info.Mode().IsRegular() {
		return false
	}
	f := w.open(real)
	if f == nil {
		return false
	}
	defer f.Close()
	// Only ELF files: a contestant must not get another file by naming it as a library.
	l, ok := readLinkage(w.reader(f))
	if ok && w.add(real, info) {
		w.libraries(l, origins(path, real), rpath)
	}
	return ok
}

// elf adds an ELF file and returns its resolved path. It reports false for any other file.
func (w *walk) elf(path string) (string, bool) {
	real, _, ok := w.resolve(path)
	return real, ok && w.linked(path, nil)
}

// origins returns the values of $ORIGIN for a library: the folder where it was found, and the folder where it
// is.
func origins(path, real string) []string {
	found := filepath.Dir(path)
	if found == filepath.Dir(real) {
		return []string{found}
	}
	return []string{found, filepath.Dir(real)}
}

// expand replaces $ORIGIN by each of the origins.
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
