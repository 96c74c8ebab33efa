package runtimes

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"judged/internal/linux"
)

// Reader reads into memory what programs load. It is safe for concurrent use.
type Reader struct {
	trees []string // folders of the host that programs see
	path  []string // where they look for a name without a slash
	now   func() time.Duration
	load  func(*os.File, int64) error

	mu   sync.Mutex               // guards the rest, and is held while files are read: who comes second needs them too
	read map[string]time.Duration // when a file or an installation was read last, by its real path
	left int64                    // bytes that this call may still read
}

const (
	// fresh is how long what was read is taken to stay. The kernel evicts
	// what nobody uses; looking costs 30 ms for the 1400 files of Python.
	fresh = 5 * time.Minute
	// maxBytes is what one call reads. The largest here, a JDK, has 190 MB.
	maxBytes = 512 << 20
)

// NewReader makes a Reader for programs that see the folders trees of the host
// and look for programs in those of path. What lies elsewhere is not read.
func NewReader(trees, path []string) *Reader {
	return &Reader{trees: trees, path: path, now: linux.Monotonic, load: linux.Populate, read: map[string]time.Duration{}}
}

// Program reads a program of the host, by its path or by a name to be looked
// up, and what it loads when it starts. What is missing or cannot be read is
// passed over; it is the run that will fail over it, and for the right reason.
func (r *Reader) Program(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = maxBytes
	r.program(name)
}

// Contestant reads what a contestant's program loads, but not that itself.
func (r *Reader) Contestant(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = maxBytes
	if f, _ := openRegular(path); f != nil {
		defer f.Close()
		r.loads(f, "")
	}
}

func (r *Reader) program(name string) {
	if !strings.Contains(name, "/") {
		name = r.lookUp(name)
	}
	if r.file(name) {
		r.installation(name)
	}
}

func (r *Reader) lookUp(name string) string {
	for _, dir := range r.path {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// shown reports whether a path lies in what programs see, as it is written. No
// other is ever touched: the names come from contestants, and a look alone
// can mount a file system.
func (r *Reader) shown(path string) bool {
	return filepath.IsAbs(path) && slices.ContainsFunc(r.trees, func(tree string) bool {
		return strings.HasPrefix(filepath.Clean(path), tree+"/")
	})
}

// file reads a file of the host and what it loads itself, and reports whether
// it is there.
func (r *Reader) file(path string) bool {
	if !r.shown(path) {
		return false
	}
	// By its real path: links can give a file names without end.
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !r.shown(real) {
		return false
	}
	if r.isFresh(real) {
		return true
	}
	f, size := openRegular(real)
	if f == nil {
		return false
	}
	defer f.Close()
	r.populate(real, f, size)
	r.loads(f, filepath.Dir(real))
	return true
}

// loads reads the interpreter of a script, or the loader and the libraries of
// an ELF file. origin is its folder, "" for a contestant's, which has nothing
// beside it.
func (r *Reader) loads(f *os.File, origin string) {
	if next := readInterpreter(f); next != "" {
		r.program(next)
		return
	}
	l := readLinkage(f)
	var folders []string
	for _, dir := range l.folders {
		folders = append(folders, strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(dir))
	}
	if r.file(l.loader) {
		folders = append(folders, loaderFolders(l.loader)...)
	}
	if origin != "" {
		folders = append(folders, origin) // of libraries that need libraries
	}
	for _, name := range l.libraries {
		r.firstFile(folders, filepath.Base(name))
	}
}

func (r *Reader) firstFile(folders []string, name string) {
	for _, dir := range folders {
		if r.file(filepath.Join(dir, name)) {
			return
		}
	}
}

// loaderFolders are where the system's libraries are: the loader lies among
// them, behind a link on systems that have libraries of several architectures.
// Reading the loader's cache instead would find those in odd places too.
func loaderFolders(loader string) []string {
	real, err := filepath.EvalSymlinks(loader)
	if err != nil {
		return nil
	}
	dir := filepath.Dir(real)
	return []string{dir, filepath.Join("/usr", dir), filepath.Dir(loader)}
}

// installation reads the folder that an interpreter has for itself, which no
// header names: /usr/lib/python3.11 of /usr/bin/python3.11, and all of lib of
// one that has a place of its own, such as a Java machine's.
func (r *Reader) installation(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !r.shown(real) || filepath.Base(filepath.Dir(real)) != "bin" {
		return
	}
	base := filepath.Dir(filepath.Dir(real))
	lib := filepath.Join(base, "lib")
	if base == "/usr" || base == "/usr/local" {
		lib = filepath.Join(lib, filepath.Base(real))
	}
	if !r.shown(lib) || r.isFresh(lib) {
		return
	}
	r.read[lib] = r.now()
	_ = filepath.WalkDir(lib, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || r.isFresh(path) {
			return nil // most programs have no such folder
		}
		if f, size := openRegular(path); f != nil {
			defer f.Close()
			r.populate(path, f, size)
		}
		return nil
	})
}

func (r *Reader) isFresh(path string) bool {
	at, ok := r.read[path]
	return ok && r.now()-at < fresh
}

// populate reads a file unless it is too large for this call. Its path is marked
// first: scripts and libraries may name each other in circles.
func (r *Reader) populate(path string, f *os.File, size int64) {
	r.read[path] = r.now()
	if size > r.left {
		return
	}
	r.left -= size
	_ = r.load(f, size) // as far as it came
}

// openRegular opens a file; a device or a pipe is none.
func openRegular(path string) (*os.File, int64) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0
	}
	return f, info.Size()
}
