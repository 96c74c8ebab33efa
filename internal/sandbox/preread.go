package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"judged/internal/sandbox/initproc"
	"judged/internal/sandbox/runtimes"
)

// newFinder finds what programs may see of this host.
func newFinder() *runtimes.Finder {
	single := hostFiles[:]
	return runtimes.NewFinder(runtimes.Places{
		Shown: slices.Concat(hostTrees[:], settings(), single), Path: strings.Split(initproc.Path, ":"),
		// The folders for the links among them.
		Every: slices.Concat(hostTrees[:], single), Cache: hostFiles[0],
	})
}

// find returns what the program of a run needs of the host, and where it is if
// it is the host's own.
func (l *Launcher) find(args []string, files []File) (*runtimes.Closure, string) {
	name := args[0]
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
		if inBox(args[0]) == f.Name {
			name = ""
		}
	}
	return l.finder.Find(name, paths)
}

// inBox is the name of a program in the working directory; "" is none there.
func inBox(program string) string {
	if !strings.Contains(program, "/") {
		return ""
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(initproc.WorkDir, program)
	}
	name, ok := strings.CutPrefix(filepath.Clean(program), initproc.WorkDir+"/")
	if !ok {
		return ""
	}
	return name
}

// Preread gets ready what a program of runs to come loads of the host, unless
// that was done a moment ago, so that no run waits for the disk or is charged
// for it: the tree of its slot, or with RootHost the files themselves, which on
// a host with several NUMA nodes stay on the node that had them first. Of what
// cannot be had the run tells.
func (l *Launcher) Preread(slot Slot, args []string, files []File) {
	switch {
	case l.hasTrees():
		_, _ = l.withTree(slot, args, files, (*Trees).make)
	case l.options.Root == RootHost:
		if c, _ := l.find(args, files); c != nil {
			l.reader.Read(c)
		}
	}
}

// see makes a mount of what the program of a run sees of the host, nil if it
// needs nothing, and tells where the program is if it is the host's own.
func (l *Launcher) see(slot Slot, args []string, files []File) (mount *os.File, program string, err error) {
	if !l.hasTrees() {
		return nil, "", nil
	}
	program, err = l.withTree(slot, args, files, func(t *Trees, c *runtimes.Closure) (err error) {
		mount, err = t.mount(c)
		return err
	})
	return mount, program, err
}

// withTree has the slot's trees do something for the closure of a program, if
// it needs anything, and tells where the program is.
func (l *Launcher) withTree(slot Slot, args []string, files []File, do func(*Trees, *runtimes.Closure) error) (string, error) {
	for again := true; ; again = false {
		c, program := l.find(args, files)
		if c == nil {
			return "", nil
		}
		if slot.Trees == nil {
			return "", errors.New("the program needs files of the host, and its slot has no trees; give it a static one")
		}
		err := do(slot.Trees, c)
		if !errors.Is(err, errChanged) || !again {
			return program, err
		}
		l.finder.Forget() // somebody installs something
	}
}
