package runtimes

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Places are the parts of a host that programs can see.
type Places struct {
	Shown []string // folders and files; nothing outside them is read
	Path  []string // folders where a name without a slash is looked up
	Every []string // files that every program needs, if they exist
	Cache string   // the loader's cache
}

// Finder finds what programs load. It is safe for concurrent use.
type Finder struct {
	places Places
	now    func() time.Time

	mu      sync.Mutex // guards results
	results map[string]*result
}

// result is the cached result of one search.
type result struct {
	used time.Time // guarded by Finder.mu

	mu      sync.Mutex // guards the fields below; held during a search, so that concurrent callers wait for its result
	done    bool
	foundAt time.Time
	closure *Closure
	program string
}

const (
	// maxAge is how long a result is used. A search takes 30 ms for the 4000 files of Python, and the kernel
	// evicts unused pages.
	maxAge = 5 * time.Minute
	// maxResults is how many results are cached. A host has a dozen kinds of program, but contestants can link
	// programs in many different ways.
	maxResults = 32
)

// NewFinder returns a Finder without cached results.
func NewFinder(p Places) *Finder {
	return &Finder{places: p, now: time.Now, results: map[string]*result{}}
}

// Find returns the files that are loaded by a program of the host, given by its path or a name to look up, and
// by the files of a submission when they are executed. An empty name means no program; a nil Closure means no
// files. The second result is the path of the program, or "" if it is not where programs can see it. An error
// means that the host failed to read its files.
func (f *Finder) Find(name string, submitted []Program) (*Closure, string, error) {
	all := make([]dependencies, 0, len(submitted))
	for _, p := range submitted {
		if !p.needs.empty() {
			all = append(all, p.needs)
		}
	}
	if name == "" && len(all) == 0 {
		return nil, "", nil
	}
	k := f.result(fmt.Sprintf("%q %q", name, all))
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := f.now(); !k.done || now.Sub(k.foundAt) >= maxAge {
		c, program, err := f.search(name, all)
		if err != nil {
			return nil, "", err
		}
		k.closure, k.program, k.done, k.foundAt = c, program, true, now
	}
	return k.closure, k.program, nil
}

// result returns the cached result for a key, or a new one. It evicts the least recently used result if the cache is
// full.
func (f *Finder) result(key string) *result {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.results[key]
	if k == nil {
		if len(f.results) >= maxResults {
			f.evictOldest()
		}
		k = new(result)
		f.results[key] = k
	}
	k.used = f.now()
	return k
}

// Forget drops all cached results.
func (f *Finder) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.results)
}

// evictOldest removes the least recently used result. The caller holds f.mu.
func (f *Finder) evictOldest() {
	oldest := ""
	for key, k := range f.results {
		if oldest == "" || k.used.Before(f.results[oldest].used) {
			oldest = key
		}
	}
	delete(f.results, oldest)
}

func (f *Finder) search(name string, all []dependencies) (*Closure, string, error) {
	w := newWalk(f.places)
	program := ""
	if name != "" {
		program = w.program(name)
	}
	for _, d := range all {
		w.dependencies(d, nil)
	}
	if len(w.entries) > 0 {
		for _, path := range f.places.Every {
			w.single(path)
		}
	}
	if w.err != nil {
		return nil, "", fmt.Errorf("find files of the host: %w", w.err)
	}
	if len(w.entries) == 0 {
		return nil, "", nil
	}
	return newClosure(w.entries), program, nil
}

// Program describes how a submitted file is executed, according to its first line and headers.
type Program struct {
	// Whole reports whether the file has everything that its headers ask the kernel to load. It is false for an ELF
	// file that is truncated or has nothing to load, and true for files of other kinds.
	Whole bool
	// Wanted is the interpreter or loader that executes the file, if a host for judging should have it: a path,
	// or after env a name to look up. Otherwise it is "": contestants may name other programs, by mistake or
	// not, which nobody has to install.
	Wanted string
	// Executes are interpreters of the same kind that a script replaces itself with.
	Executes []string
	needs    dependencies
}

// Loads reports whether the file cannot be executed without files of the host.
func (p Program) Loads() bool {
	return len(p.needs.Interpreters) > 0 || p.needs.Linkage.loader != "" || len(p.needs.Linkage.libraries) > 0
}

// Inspect reads the Program of a file. An error means that the host failed to read it.
func Inspect(f io.ReaderAt, size int64) (Program, error) {
	var failed failure
	f = failed.reader(f)
	p := Program{Whole: isWhole(f, uint64(size)), Wanted: wanted(f), needs: readDependencies(f)}
	if _, isScript := scriptLine(f); isScript {
		p.Executes = readExecuted(f)
	}
	return p, failed.err
}

// dependencies are the files that an executable file names in its #! line or ELF headers.
type dependencies struct {
	Interpreters []string // from a #! line, and those that the script executes
	Linkage      linkage
	Opened       []string // texts of opened that a static program contains
}

func (d dependencies) empty() bool {
	return len(d.Interpreters) == 0 && d.Linkage.loader == "" && len(d.Linkage.libraries) == 0 &&
		len(d.Opened) == 0
}

func readDependencies(f io.ReaderAt) (d dependencies) {
	if d.Interpreters = readInterpreters(f); d.Interpreters == nil {
		var ok bool
		if d.Linkage, ok = readLinkage(f); ok && d.Linkage.loader == "" {
			d.Opened = readOpened(f)
		}
	} else {
		d.Interpreters = append(d.Interpreters, readExecuted(f)...)
	}
	return d
}

// shown reports whether a path, as written, is visible to programs. No other path is ever accessed: the names
// come from contestants, and even an access can mount a file system.
func (p Places) shown(path string) bool {
	return slices.ContainsFunc(p.Shown, func(tree string) bool {
		return path == tree ||
			strings.HasPrefix(path, tree+"/")
	})
}

// leadsTo reports whether a path is a parent of a visible path.
func (p Places) leadsTo(path string) bool {
	return slices.ContainsFunc(p.Shown, func(tree string) bool { return strings.HasPrefix(tree, path+"/") })
}

// lookUp finds a program by its name, as a shell does.
func (w *walk) lookUp(name string) string {
	for _, dir := range w.places.Path {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		w.note(err)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}
