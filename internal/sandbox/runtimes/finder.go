package runtimes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Places are what programs may see of a host.
type Places struct {
	Shown []string // folders and files; what lies elsewhere is not looked at
	Path  []string // folders where a name without a slash is looked up
	Every []string // what every program needs, wherever it is there
	Cache string   // the loader's
}

// Finder finds what programs load. It is safe for concurrent use.
type Finder struct {
	places Places
	now    func() time.Time

	mu    sync.Mutex // guards known
	known map[string]*finding
}

// finding is what was found for one kind of program.
type finding struct {
	used time.Time // guarded by the Finder's lock

	mu      sync.Mutex // guards the rest, and is held while somebody looks: who comes second needs it too
	looked  bool
	at      time.Time
	closure *Closure
	program string
}

const (
	// fresh is how long what was found is taken to stay. Looking costs 30 ms
	// for the 4000 files of Python, and the kernel evicts what nobody uses.
	fresh = 5 * time.Minute
	// maxKnown is how many kinds of program are remembered. A host has a dozen;
	// programs may be linked to make them many.
	maxKnown = 32
)

// NewFinder makes a Finder that has found nothing.
func NewFinder(p Places) *Finder {
	return &Finder{places: p, now: time.Now, known: map[string]*finding{}}
}

// Find returns what is loaded by a program of the host, by its path or a name
// to be looked up, and by the files of a submission, paths of this host, when
// they are executed. No name is no program, and a nil Closure is nothing. The
// second result is where the program is; "" is nowhere that programs may see.
//
// Files are looked at on every call, what they ask for once in a while.
func (f *Finder) Find(name string, files []string) (*Closure, string) {
	asks := make([]ask, 0, len(files))
	for _, path := range files {
		if a := readAsk(path); !a.empty() {
			asks = append(asks, a)
		}
	}
	if name == "" && len(asks) == 0 {
		return nil, ""
	}
	k := f.finding(fmt.Sprintf("%q %q", name, asks))
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := f.now(); !k.looked || now.Sub(k.at) >= fresh {
		k.closure, k.program = f.look(name, asks)
		k.looked, k.at = true, now
	}
	return k.closure, k.program
}

// finding is what is remembered by a key. The one that nobody has used for
// longest makes room.
func (f *Finder) finding(key string) *finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.known[key]
	if k == nil {
		if len(f.known) >= maxKnown {
			f.dropOldest()
		}
		k = new(finding)
		f.known[key] = k
	}
	k.used = f.now()
	return k
}

// Forget has everything looked for again.
func (f *Finder) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.known)
}

// dropOldest needs the lock.
func (f *Finder) dropOldest() {
	oldest := ""
	for key, k := range f.known {
		if oldest == "" || k.used.Before(f.known[oldest].used) {
			oldest = key
		}
	}
	delete(f.known, oldest)
}

func (f *Finder) look(name string, asks []ask) (*Closure, string) {
	w := newWalk(f.places)
	program := ""
	if name != "" {
		program = w.program(name)
	}
	for _, a := range asks {
		w.ask(a, nil)
	}
	if len(w.entries) == 0 {
		return nil, ""
	}
	for _, path := range f.places.Every {
		w.plain(path)
	}
	return newClosure(w.entries), program
}

// ask is what a file asks for when it is executed.
type ask struct {
	Interpreters []string // of a script
	Linkage      linkage
}

func (a ask) empty() bool {
	return len(a.Interpreters) == 0 && a.Linkage.loader == "" && len(a.Linkage.libraries) == 0
}

func readAsk(path string) (a ask) {
	f := openRegular(path)
	if f == nil {
		return a
	}
	defer f.Close()
	if a.Interpreters = readInterpreters(f); a.Interpreters == nil {
		a.Linkage, _ = readLinkage(f)
	}
	return a
}

// shown reports whether a path lies in what programs see, as it is written. No
// other is ever touched: the names come from contestants, and a look alone
// can mount a file system.
func (p Places) shown(path string) bool {
	return slices.ContainsFunc(p.Shown, func(tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") })
}

// leadsTo reports whether a path is on the way to what programs see.
func (p Places) leadsTo(path string) bool {
	return slices.ContainsFunc(p.Shown, func(tree string) bool { return strings.HasPrefix(tree, path+"/") })
}

// lookUp finds a program by its name, the way a shell does.
func (p Places) lookUp(name string) string {
	for _, dir := range p.Path {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}
